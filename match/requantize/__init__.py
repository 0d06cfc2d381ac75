"""Fitting a layer's requantization into the form that a module executes."""

from match.requantize.fit import compare as compare
from match.requantize.fit import fit as fit
from match.requantize.registers import executes as executes
