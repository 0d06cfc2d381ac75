"""Fitting a layer's requantization into the form that a module executes."""

from match.fitting.fit import compare as compare
from match.fitting.fit import fit as fit
from match.fitting.registers import executes as executes
