"""BayBE, run by the Python of an environment of its own: it needs torch and much else.

Enters: one JSON document by standard input, with conditions and yields of the new reaction, those
of earlier ones (if any), how many experiments, and a seed. Leaves: by standard output, the numbers
of the conditions that were carried out, in order, and the version. Nothing of ours is imported.

BayBE is used as its documentation has it: a campaign with its default recommender, one experiment
at a time, words as one-hot columns, and a `TaskParameter` where there are earlier reactions.
"""

import json
import sys
from typing import Any


def main() -> None:
    """Read, run, write."""
    print(json.dumps(searched(json.load(sys.stdin))))


def searched(given: dict[str, Any]) -> dict[str, Any]:
    """The campaign: the whole table is known here, BayBE is shown one yield after the other."""
    import baybe
    import pandas as pd
    import torch
    from baybe.utils.random import set_random_seed

    torch.set_num_threads(1)
    set_random_seed(given["seed"])
    table = pd.DataFrame(given["conditions"], columns=given["columns"])
    place = {tuple(row): i for i, row in enumerate(given["conditions"])}
    campaign = begun(given, table)
    tried: list[int] = []
    while len(tried) < given["trials"]:
        asked = campaign.recommend(1)
        tried.append(place[tuple(asked[given["columns"]].iloc[0].tolist())])
        result = table.iloc[[tried[-1]]].assign(result=given["yields"][tried[-1]])
        campaign.add_measurements(result.assign(task=given["name"]) if given["sources"] else result)
        if given["yields"][tried[-1]] >= given["enough"]:
            break
    return {"tried": tried, "version": baybe.__version__}


def begun(given: dict[str, Any], table: Any) -> Any:
    """A campaign that knows the earlier reactions."""
    import pandas as pd
    from baybe import Campaign
    from baybe.objectives import SingleTargetObjective
    from baybe.parameters import CategoricalParameter, NumericalDiscreteParameter, TaskParameter
    from baybe.searchspace import SearchSpace
    from baybe.targets import NumericalTarget

    sources = given["sources"]
    every = [table] + [pd.DataFrame(s["conditions"], columns=given["columns"]) for s in sources]
    parameters: list[Any] = []
    for name in given["columns"]:
        values = sorted({value for one in every for value in one[name]})
        words = isinstance(values[0], str)
        kind = CategoricalParameter if words else NumericalDiscreteParameter
        parameters.append(kind(name, values))
    candidates = table
    if sources:
        names = [given["name"], *(s["name"] for s in sources)]
        parameters.append(TaskParameter("task", names, active_values=names[:1]))
        candidates = table.assign(task=given["name"])
    space = SearchSpace.from_dataframe(candidates, parameters)
    campaign = Campaign(space, SingleTargetObjective(NumericalTarget("result")))
    for past, rows in zip(sources, every[1:], strict=True):
        campaign.add_measurements(rows.assign(task=past["name"], result=past["yields"]))
    return campaign


if __name__ == "__main__":
    main()
