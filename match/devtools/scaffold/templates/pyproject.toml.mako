[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "match-target-${name.replace("_", "-")}"
version = "0.1.0"
description = "${title} as a target of the MATCH compiler"
requires-python = ">=3.11"
dependencies = ["match-compiler"]

[project.optional-dependencies]
test = ["pytest>=8.0"]

[project.entry-points."match.targets"]
${name} = "${name}.target:${title}"

[tool.setuptools.package-data]
${name} = ["*.c", "*.h"]

[tool.pytest.ini_options]
testpaths = ["tests"]
