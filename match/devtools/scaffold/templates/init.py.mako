"""${title} as a target of the MATCH compiler."""
