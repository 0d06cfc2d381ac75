"""How a layer is laid out in memories."""
