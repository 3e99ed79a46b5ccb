"""Files of solutions, read by what they are for: VTU files by the package vtk, arrays by numpy, and arrays of numpy by the program.

Usage: python3 read_back.py PROGRAM, with numpy and vtk
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy
from numpy import cos, pi, sin
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkPolyData
from vtkmodules.vtkFiltersCore import vtkProbeFilter
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader

# Not on a node, an edge or a face of any mesh below.
PLACE = (0.31, 0.67, 0.43)


def solve(*options, code=0):
    """The result of a solve as a dictionary; what it said if another exit code is expected."""
    command = [PROGRAM, "solve", "--backend", "cpu", "--json", "-", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stderr}"
    return json.loads(done.stdout) if code == 0 else done.stderr


class Vtu:
    """A file, read by VTK."""

    def __init__(self, path):
        reader = vtkXMLUnstructuredGridReader()
        reader.SetFileName(str(path))
        reader.Update()
        assert reader.GetErrorCode() == 0, path
        self.grid = reader.GetOutput()
        self.points = vtk_to_numpy(self.grid.GetPoints().GetData())
        self.x, self.y, self.z = self.points.T

    def data(self, name):
        return vtk_to_numpy(self.grid.GetPointData().GetArray(name))

    def data_of_cells(self, name):
        return vtk_to_numpy(self.grid.GetCellData().GetArray(name))

    def at(self, name, place):
        """The interpolation of VTK's cells, which depends on the order of their points."""
        points, cloud, probe = vtkPoints(), vtkPolyData(), vtkProbeFilter()
        points.SetDataTypeToDouble()
        points.InsertNextPoint(*place)
        cloud.SetPoints(points)
        probe.SetInputData(cloud)
        probe.SetSourceData(self.grid)
        probe.Update()
        assert probe.GetValidPoints().GetNumberOfTuples() == 1, f"{place} is in no cell"
        return vtk_to_numpy(probe.GetOutput().GetPointData().GetArray(name))[0]

    def sizes(self):
        return self.grid.GetNumberOfPoints(), self.grid.GetNumberOfCells()


def close(found, expected, tolerance, what):
    distance = numpy.abs(numpy.asarray(found) - expected).max()
    assert distance <= tolerance, f"{what}: {distance} away, {tolerance} allowed"


def sine(*place):
    return numpy.prod([sin(pi * x) for x in place], axis=0)


def boxes(folder):
    for system, dim, degree, points in [("poisson-cg", 2, 4, 33**2), ("poisson-cg", 3, 3, 25**3), ("poisson-dg", 3, 3, 32**3)]:
        vtu, npz = folder / "u.vtu", folder / "u.npz"
        options = ["--system", system, "--dim", dim, "--degree", degree, "--refine", 3]
        result = solve(*options, "--vtu", vtu, "--npz", npz)
        # Errors at points are larger than their mean.
        tolerance = 20 * result["l2_error"]
        file = Vtu(vtu)
        assert file.sizes() == (points, 8**dim), file.sizes()
        u, exact = file.data("solution"), sine(*file.points.T[:dim])
        close(u, exact, tolerance, "solution")
        close(file.data("error"), u - exact, 1e-14, "error")
        assert -tolerance <= u.min() and 1 - tolerance <= u.max() <= 1 + tolerance, (u.min(), u.max())
        place = PLACE[:dim] + (0,) * (3 - dim)
        close(file.at("solution", place), sine(*place[:dim]), tolerance, f"{system} in {dim}D at {place}")

        solve(*options, "--vtu", vtu, "--vtu-scalar", "f32")
        single = Vtu(vtu)
        assert single.points.dtype == single.data("solution").dtype == numpy.float32
        close(single.data("solution"), u, 1e-7, "solution of 32 bits")

        with numpy.load(npz) as arrays:
            values, nodes = arrays["values"], arrays["points"]
        assert values.size == points and nodes.shape == values.shape + (dim,) and values.dtype == nodes.dtype == float
        close(values, sine(*numpy.moveaxis(nodes, -1, 0)), tolerance, "values")
        assert (numpy.diff(nodes[..., 0], axis=-1) >= 0).all(), "x runs fastest"
        # Arrays that numpy wrote.
        numpy.savez(npz, values=values, points=nodes)
        assert solve(*options, "--start-from", npz)["iterations"] <= 1
        numpy.savez_compressed(npz, values=values, points=nodes)
        assert "'values' is compressed" in solve(*options, "--start-from", npz, code=2)
        numpy.savez(npz, values=numpy.asfortranarray(values), points=nodes)
        assert "the order of 'values'" in solve(*options, "--start-from", npz, code=2)


def forest(folder):
    vtu, npz = folder / "forest.pvd", folder / "forest.npz"
    # A polynomial of the elements, whatever the mesh.
    exact = "x^2 + x*y - y"
    options = ["--system", "elliptic", "--mesh", "lshape", "--degree", 2, "--refine", 1, "--marking", "corner"]
    data = ["--rhs=-2", "--exact", exact, "--boundary", exact, "--rtol", "1e-13"]
    result = solve(*options, "--adapt", 2, *data, "--vtu", vtu, "--npz", npz)
    cycles = result["cycles"]
    names = [tag.get("file") for tag in ElementTree.parse(vtu).iter("DataSet")]
    assert len(names) == len(cycles) == 3
    for name, cycle in zip(names, cycles):
        file = Vtu(folder / name)
        assert file.sizes() == (cycle["nodes"], cycle["cells"])
        u = lambda x, y: x**2 + x * y - y
        close(file.data("solution"), u(file.x, file.y), 1e-10, "solution")
        for place in [(-0.31, 0.67, 0), (-0.013, 0.017, 0), (0.02, -0.11, 0)]:
            close(file.at("solution", place), u(*place[:2]), 1e-10, f"forest at {place}")
    levels = file.data_of_cells("level")
    assert (levels.min(), levels.max()) == (1, 3) and file.data_of_cells("estimate").max() < 1e-8
    with numpy.load(npz) as arrays:
        (x, y), values = arrays["points"].T, arrays["values"]
    assert values.shape == (cycles[-1]["nodes"],)
    close(values, u(x, y), 1e-10, "values")


def flow(folder):
    velocity = lambda x, y: (sin(pi * x) * cos(pi * y), -cos(pi * x) * sin(pi * y))
    vtu, npz = folder / "flow.vtu", folder / "flow.npz"
    options = ["--system", "stokes", "--dim", 2, "--degree", 3, "--refine", 3, "--problem", "taylor-green"]
    options += ["--solver", "fgmres", "--vtu", vtu, "--npz", npz]
    result = solve(*options)
    tolerance = 20 * result["l2_error"]
    file = Vtu(vtu)
    assert file.sizes() == (64 * 25, 64)
    close(file.data("velocity"), numpy.transpose([*velocity(file.x, file.y), 0 * file.z]), tolerance, "velocity")
    place = (0.31, 0.67, 0)
    close(file.at("velocity", place), [*velocity(*place[:2]), 0], tolerance, f"velocity at {place}")
    with numpy.load(npz) as arrays:
        for direction, name in enumerate(["velocity_x", "velocity_y"]):
            points = arrays[f"{name}_points"]
            close(arrays[name], velocity(*numpy.moveaxis(points, -1, 0))[direction], tolerance, name)
        shapes = [arrays[name].shape for name in ["velocity_x", "velocity_y", "pressure"]]
    assert shapes == [(32, 33), (33, 32), (32, 32)], shapes


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for check in [boxes, forest, flow]:
            check(Path(folder))
            print(f"{check.__name__}: read back")
