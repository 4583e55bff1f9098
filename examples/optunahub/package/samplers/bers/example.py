"""Tune with the help of three earlier studies."""

import optuna
import optunahub


def loss(best):
    return lambda trial: (trial.suggest_float("x", 0, 10) - best) ** 2


past = {}
for best in (3.0, 4.0, 5.0):
    past[str(best)] = optuna.create_study()
    past[str(best)].optimize(loss(best), n_trials=20)

module = optunahub.load_module(package="samplers/bers")
study = optuna.create_study(sampler=module.BersSampler(past))
study.optimize(loss(4.4), n_trials=20)
print(study.best_params)
