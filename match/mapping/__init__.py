"""The mapping of a layer onto memories: loops, what lies where inside of which loop; how activations lie there."""
