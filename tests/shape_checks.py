"""The type checker that executes shapes in tests: beartype, with an int allowed for a float."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
