"""The shape of the project, held by tests: layers, two arms, anchors, docstrings."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STUDIES = ROOT / "studies" / "bers_studies"

# top to bottom: what stands in one line may import what stands below it, and nothing else
LAYERS = {
    "bers": [
        {"cli", "pages", "sklearn"},
        {"integrations"},
        {"optimise"},
        {"algorithm", "rules"},
        {"learners", "trust"},
        {"model", "reuse", "schedules", "transforms"},
        {"data"},
        {"integrity", "parallel"},
        {"cluster", "files", "html", "progress"},
        {"deprecated", "errors", "text"},
    ],
    "bers_studies": [
        {"cli"},
        {path.parent.name for path in STUDIES.glob("*/study.py")},  # may use one another
        {"report"},
        {"study"},
        {"rl", "rivals"},
        {"envs", "public_data", "runner"},
    ],
}
BAYESIAN_ARM, LEARNING_ARM = {"data", "model", "trust"}, {"reuse", "learners"}


def _modules(root):
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict([*_modules(ROOT / "bers"), *_modules(STUDIES)])
LIBRARY = [name for name in MODULES if name.startswith("bers.")]
INNER = [name for name in MODULES if "." in name]


def _executed(tree):
    """All nodes but those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _executed(node)


def _imports(name):
    """Every module of ours that a module imports, inside functions too."""
    for node in _executed(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} uses a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else str(node.module)


GRAPH = {
    name: {other for other in _imports(name) if other in MODULES and "." in other}
    for name in MODULES
}


def _room(name):
    """The top-level part of its package that a module is in."""
    return name.split(".")[1]


def _layer(name):
    package, room = name.split(".")[:2]
    places = [i for i, layer in enumerate(LAYERS[package]) if room in layer]
    assert places, f"{name} is in no layer: add it to LAYERS"
    return places[0]


def _same(one, other):
    """In one room; studies count as one."""
    together = {"bers_studies": LAYERS["bers_studies"][1]}.get(one.split(".")[0], set())
    return _room(one) == _room(other) or {_room(one), _room(other)} <= together


def test_there_is_something_to_check():
    assert len(MODULES) > 100
    assert "bers.model.nig" in GRAPH["bers.model.posteriors"]
    assert "bers_studies.rl.replay" in GRAPH["bers_studies.rl.ddpg"]


def test_no_import_cycle():
    done, path = set(), []

    def visit(name):
        assert name not in path, f"cycle: {' > '.join([*path, name])}"
        if name in done:
            return
        path.append(name)
        for other in GRAPH[name]:
            visit(other)
        path.pop()
        done.add(name)

    for name in GRAPH:
        visit(name)


@pytest.mark.parametrize("name", INNER)
def test_imports_go_down(name):
    for other in GRAPH[name]:
        if other.split(".")[0] == name.split(".")[0] and not _same(name, other):
            assert _layer(other) > _layer(name), f"{name} imports {other}"


@pytest.mark.parametrize("name", ["bers", *LIBRARY])
def test_the_library_knows_nothing_of_the_studies(name):
    assert not [other for other in _imports(name) if other.split(".")[0] == "bers_studies"]


@pytest.mark.parametrize("name", LIBRARY)
def test_the_two_arms_do_not_know_each_other(name):
    rooms = {_room(other) for other in GRAPH[name]}
    if _room(name) in BAYESIAN_ARM:
        assert not rooms & LEARNING_ARM
    if _room(name) in LEARNING_ARM:
        assert not rooms & (BAYESIAN_ARM - {"data"})


def test_every_module_says_what_it_is_for():
    for name, path in MODULES.items():
        text = path.read_text()
        if text or path.name != "__init__.py":
            assert ast.get_docstring(ast.parse(text)), f"{name} has no docstring"


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0, f"{name}: run python -m doctest on it to see"


def test_every_equation_anchor_resolves_and_is_used():
    anchor = re.compile(r"\[(?:Eq\.|Algorithm) [a-z0-9_]+\]")
    used = {a for path in MODULES.values() for a in anchor.findall(path.read_text())}
    written = re.findall(r"^#+ (\[(?:Eq\.|Algorithm) [a-z0-9_]+\])", _page("equations.md"), re.M)
    assert used
    assert used == set(written)
    assert len(written) == len(set(written))


def test_every_setting_and_letter_is_in_the_notation():
    notation = _page("notation.md")
    for letter in ("phi", "Phi", "mu", "Lam", "U", "Sigma", "alpha", "beta", "d", "n", "R"):
        assert f"`{letter}`" in notation, letter


def test_public_names_have_docstrings_with_examples():
    import bers

    for name in bers.__all__:
        thing = getattr(bers, name)
        assert thing.__doc__, name
        assert ">>>" in thing.__doc__, f"{name} has no example"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'; it has .*Demonstrations"):
        importlib.import_module("bers").__getattr__("nothing")


def test_importing_bers_is_light_and_changes_nothing_global():
    program = """
import sys, warnings, logging, os, random
before = (list(warnings.filters), logging.root.handlers[:], dict(os.environ), random.getstate())
import bers
assert before == (warnings.filters, logging.root.handlers, dict(os.environ), random.getstate())
heavy = {"jax", "torch", "pyarrow", "minari", "sklearn", "matplotlib", "numpy", "scipy", "rich"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
bers.fit
import jax
assert not jax.config.jax_enable_x64
try:
    bers.fit(bers.Demonstrations([1.0], [1.0], "a"))
except ValueError as error:
    assert str(error) == "give a list of sources; got Demonstrations. Put it in [ ].", error
else:
    raise AssertionError("one source without a list was taken")
assert not {"torch", "minari", "sklearn", "matplotlib"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_nothing_unsafe_is_called():
    banned = re.compile(
        r"pickle|allow_pickle|torch\.load|joblib\.load|yaml\.load|\beval\(|\bexec\("
    )
    for name, path in MODULES.items():
        code = "\n".join(
            ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call | ast.Import | ast.ImportFrom)
        )
        found = banned.search(code.replace("allow_pickle=False", ""))
        assert not found, f"{name}: {found}"


def test_no_absolute_paths_in_the_tree():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    pattern = re.compile("/(?:work|root|tmp|home)/[A-Za-z0-9_.-]+")
    for file in files:
        path = ROOT / file
        if (
            path.suffix in {".py", ".md", ".toml", ".yml", ".json", ".jsonl", ".txt"}
            and path.exists()
        ):
            assert not pattern.search(path.read_text()), file


def _page(name):
    return (ROOT / "docs" / name).read_text()


def test_nobody_but_trust_refines_believes_and_weighs():
    only = {"refine": "bers.model.neural_linear", "beliefs": "bers.trust.beliefs",
            "weigh": "bers.trust.rules"}  # fmt: skip
    allowed = {
        "bers.trust.trust"
    }  # `bers fit` and the study of heads train a model; they weigh nothing
    heads = {"bers.cli", "bers_studies.heads.study", "bers.model.neural_linear"}
    found = {}
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name: alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in {*only.values(), "bers"}
            for alias in node.names
            if alias.name in only
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                last = imported.get(called) or called.removeprefix("bers.")
                if called in imported or (called == f"bers.{last}" and last in only):
                    found.setdefault(last, set()).add(name)
    assert found.pop("refine") - heads == allowed
    assert found == {"beliefs": allowed, "weigh": allowed}


def _public():
    """Every function and class that a user is told of, with the methods of the classes."""
    import bers
    import bers.integrations.gymnasium
    import bers.integrations.optuna
    import bers.integrations.sb3
    import bers.integrations.scipy

    tools = bers.integrations
    yield from ((name, getattr(bers, name)) for name in bers.__all__)
    yield from ((name, getattr(bers.schedules, name)) for name in ("Constant", "Linear", "Power"))
    yield from ((f"rules.{name}", getattr(bers.rules, name)) for name in ("Rule", "rule_named"))
    for module, names in (
        (tools.sb3, tools.sb3.__all__),
        (tools.optuna, ["BersSampler"]),
        (tools.scipy, ["Reuse", "differential_evolution"]),
        (tools.gymnasium, ["Recorder", "Recording"]),
    ):
        yield from ((f"{module.__name__}.{name}", getattr(module, name)) for name in names)


def _signatures():
    for name, thing in _public():
        if not isinstance(thing, type):
            yield name, thing, thing.__doc__
            continue
        yield name, thing.__init__, f"{thing.__doc__}\n{thing.__init__.__doc__ or ''}"
        for method, inner in vars(thing).items():
            inner = inner.__func__ if isinstance(inner, classmethod | staticmethod) else inner
            if inspect.isfunction(inner) and not method.startswith("_"):
                yield f"{name}.{method}", inner, inner.__doc__


def test_public_functions_have_few_parameters_and_name_each():
    records = dict(_public())
    for name, function, doc in _signatures():
        if not (getattr(function, "__module__", "") or "").startswith("bers"):
            continue  # inherited from the library that we plug into
        names = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
        assert len(names) <= 15, f"{name} has {len(names)} parameters"
        text = doc or ""
        if dataclasses.is_dataclass(records.get(name)):
            text += inspect.getsource(records[name])  # fields have docstrings of their own
        missing = [p for p in names if not re.search(rf"\b{re.escape(p)}\b", text)]
        assert not missing, f"{name} does not name {missing}"


def test_no_module_of_the_library_keeps_a_cache():
    kept = r"^\s*@(?:functools\.)?(?:cache|lru_cache)\b|ContextVar\(|meta_path|WeakKey\w+\("
    for name in LIBRARY:
        if name != "bers.model.scaling":  # its Memory belongs to a Trust
            assert not re.findall(kept, MODULES[name].read_text(), re.M), name
