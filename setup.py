"""What pyproject.toml cannot say.

The compiled solver is plain C behind ctypes, with no Python header in it, so one wheel serves every
Python 3 of a platform. And the README's pictures must be found from a package index, too.
"""

import os
import re
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext


class AnyPython(bdist_wheel):
    """A wheel that is tagged py3-none-PLATFORM."""

    def get_tag(self):
        """Any Python 3, no binary interface of it, this platform."""
        return "py3", "none", super().get_tag()[2]


class PlainLibrary(build_ext):
    """A library without a Python version in its name and without an entry for Python."""

    def get_ext_filename(self, fullname):
        """Where the library is put."""
        return os.path.join(*fullname.split(".")) + (".pyd" if os.name == "nt" else ".so")

    def get_export_symbols(self, ext):
        """What Windows has to be told."""
        return ["bers_weights"]


def description():
    """The README as a package index can show it, which has none of the repository's files.

    With a `Source` among the project's URLs, pictures and links lead there; without one, pictures
    are left out, and links keep their words.
    """
    here = Path(__file__).parent
    text = (here / "README.md").read_text(encoding="utf-8")
    source = re.search(r'^Source = "(.+)"$', (here / "pyproject.toml").read_text(), re.M)
    local = r"\((?!https?:|#)([^)]+)\)"
    if source is None:
        return re.sub(rf"\[([^]]*)\]{local}", r"\1", re.sub(rf"!\[[^]]*\]{local}\n*", "", text))
    text = re.sub(rf"(!\[[^]]*\]){local}", rf"\1({source[1]}/raw/main/\2)", text)
    return re.sub(rf"(\[[^]]*\]){local}", rf"\1({source[1]}/blob/main/\2)", text)


setup(
    long_description=description(),
    long_description_content_type="text/markdown",
    cmdclass={"bdist_wheel": AnyPython, "build_ext": PlainLibrary},
)
