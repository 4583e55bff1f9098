"""scikit-learn's words: `bers.sklearn.MultiSourceRegressor`."""

from bers.integrations.sklearn import MultiSourceRegressor

__all__ = ["MultiSourceRegressor"]
