"""Tune a support vector machine with the studies of two other data sets."""

import optuna
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bers.integrations.optuna import BersSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)


def accuracy(load):
    X, y = load(return_X_y=True)

    def objective(trial):
        C = trial.suggest_float("C", 1e-3, 1e3, log=True)
        gamma = trial.suggest_float("gamma", 1e-5, 10, log=True)
        model = make_pipeline(StandardScaler(), SVC(C=C, gamma=gamma))
        return cross_val_score(model, X[::2], y[::2], cv=3).mean()

    return objective


def tuned(load, trials, sampler):
    study = optuna.create_study(sampler=sampler, direction="maximize")
    study.optimize(accuracy(load), n_trials=trials)
    return study


earlier = {
    "iris": tuned(load_iris, 20, optuna.samplers.TPESampler(seed=1)),
    "breast cancer": tuned(load_breast_cancer, 20, optuna.samplers.TPESampler(seed=2)),
}
sampler = BersSampler(earlier, seed=0)
study = tuned(load_wine, 15, sampler)

print(f"accuracy on wine: {study.best_value:.3f} with {study.best_params}")
print("believed:", {name: round(weight, 2) for name, weight in sampler.weights.items()})
for trial in study.trials[:5]:
    told = trial.user_attrs["bers"]
    print(f"trial {trial.number}: {trial.value:.3f}, from {told['source'] or told['by']}")
