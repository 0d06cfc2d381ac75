"""TFLite files, operator by operator and network by network, against TFLite Micro."""
