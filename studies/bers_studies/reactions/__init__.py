"""Reactions in 30 to 100 experiments: what do those that were carried out before save?"""
