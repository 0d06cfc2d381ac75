"""Finds layers in integer Relay and cuts the network into functions for modules."""
