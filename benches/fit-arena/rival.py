"""Extra-P's side of the fit arena: one process, one JSON object a line in, one out.

In:  {"cell": 7, "parameters": ["n", "p"], "points": [[16, 2], ...], "values": [[5.1, 5.2, ...], ...], "test": [[100, 3], ...]}
Out: {"cell": 7, "default": {"model": "...", "predictions": [...]}, "refining": {...}}

A modeler that fails has {"error": "..."} in its place. The first line out is {"version": "..."}. `python3 -c 'import extrap'`
must work: `pip install 'extrap==4.2.*'`.
"""

import importlib.metadata
import json
import logging
import sys
import warnings

import numpy
from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.entities.metric import Metric
from extrap.modelers.multi_parameter.multi_parameter_modeler import MultiParameterModeler
from extrap.modelers.single_parameter.basic import SingleParameterModeler
from extrap.modelers.single_parameter.refining import RefiningModeler
from extrap.entities.parameter import Parameter


def modeler(kind, parameters):
    """A fresh modeler as Extra-P itself would set it up."""
    single = SingleParameterModeler() if kind == "default" else RefiningModeler()
    if parameters == 1:
        return single
    multi = MultiParameterModeler()
    single.use_measure = multi.use_measure
    multi.single_parameter_modeler = single
    return multi


def run(cell, kind):
    path, metric = Callpath("cell"), Metric("time")
    measurements = [
        Measurement(Coordinate(*map(float, point)), path, metric, values)
        for point, values in zip(cell["points"], cell["values"])
    ]
    model = modeler(kind, len(cell["parameters"])).create_model(measurements)
    function = model.hypothesis.function
    test = numpy.array(cell["test"], dtype=float)
    if len(cell["parameters"]) == 1:
        predictions = function.evaluate(test[:, 0])
    else:
        predictions = function.evaluate(test.T)
    # A constant function answers with one number.
    predictions = numpy.broadcast_to(numpy.asarray(predictions, dtype=float), (len(test),))
    text = function.to_string(*(Parameter(p) for p in cell["parameters"]))
    return {"model": text, "predictions": [float(p) for p in predictions]}


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print(json.dumps({"version": importlib.metadata.version("extrap")}), flush=True)
    for line in sys.stdin:
        cell = json.loads(line)
        answer = {"cell": cell["cell"]}
        for kind in ("default", "refining"):
            try:
                answer[kind] = run(cell, kind)
            except Exception as error:  # whatever goes wrong inside is that modeler's result
                answer[kind] = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
