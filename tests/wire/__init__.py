"""What clients and model servers see of the program, told by data and played over real sockets.

The program is the command in `SERVER` (default: `python -m app`), which takes `serve --config FILE --port N`.
"""
