//! What tests of several modules share.

use crate::backend::cpu::{Cpu, Vector};
use crate::backend::{AxisMatrix, Backend, DeviceInfo, OuterProducts, Program, Scalar, Tensors, WeightedGrid};
use crate::error::Result;
use crate::output::xml;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers between -1 and 1 that are multiples of 2⁻¹², and so exact in `f32`.
pub fn random(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    core::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 51) as f64 - 4096.0) / 4096.0
    })
    .take(len)
    .collect()
}

/// That `found` is `expected`, but for `tolerance` of its largest entry.
pub fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(0.0f64, |max, v| max.max(v.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        // Negated, so that a NaN fails.
        let close = (found - expected).abs() <= tolerance * scale;
        assert!(close, "{what}, dof {i}: {found} != {expected}, largest {scale}");
    }
}

/// An array as `vtkZLibDataCompressor` has it, at the beginning of `data`: its bytes, and how many of `data` it takes.
pub fn compressed_array(data: &[u8]) -> (Vec<u8>, usize) {
    let number = |i: usize| u64::from_le_bytes(data[8 * i..][..8].try_into().unwrap()) as usize;
    let [blocks, size, last] = [0, 1, 2].map(number);
    let (mut bytes, mut offset) = (Vec::new(), 8 * (3 + blocks));
    for block in 0..blocks {
        let block_bytes = decompress_to_vec_zlib(&data[offset..][..number(3 + block)]).unwrap();
        let is_short = block == blocks - 1 && last > 0;
        assert_eq!(block_bytes.len(), if is_short { last } else { size });
        bytes.extend(block_bytes);
        offset += number(3 + block);
    }
    (bytes, offset)
}

/// A VTU file with appended arrays, read as its format is specified.
pub struct VtuFile {
    tags: String,
    data: Vec<u8>,
}

impl VtuFile {
    pub fn of(path: &Path) -> Self {
        const START: &[u8] = b"<AppendedData encoding=\"raw\">\n_";
        let mut tags = std::fs::read(path).unwrap();
        let start = tags.windows(START.len()).position(|bytes| bytes == START).unwrap() + START.len();
        let mut data = tags.split_off(start);
        assert!(data.ends_with(b"\n</AppendedData>\n</VTKFile>\n"));
        data.truncate(data.len() - b"\n</AppendedData>\n</VTKFile>\n".len());
        Self { tags: String::from_utf8(tags).unwrap(), data }
    }

    /// Number in an attribute of the piece.
    pub fn count(&self, attribute: &str) -> usize {
        attribute_of(&self.tags, attribute).parse().unwrap()
    }

    /// The tag of an array, from its type on.
    fn tag(&self, name: &str) -> &str {
        let is_of_array = |tag: &&str| tag.contains(&format!(" Name=\"{}\" ", xml::escaped(name)));
        self.tags.split("<DataArray").skip(1).find(is_of_array).unwrap().split_once("/>").unwrap().0
    }

    /// Where an array lies, and how many bytes it takes there.
    fn place(&self, name: &str) -> (usize, usize) {
        let offset = attribute_of(self.tag(name), "offset").parse().unwrap();
        (offset, compressed_array(&self.data[offset..]).1)
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        compressed_array(&self.data[self.place(name).0..]).0
    }

    /// Of 32 or 64 bits.
    pub fn floats(&self, name: &str) -> Vec<f64> {
        let bytes = self.bytes(name);
        match attribute_of(self.tag(name), "type") {
            "Float32" => {
                bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap()).into()).collect()
            }
            "Float64" => bytes.chunks_exact(8).map(|word| f64::from_le_bytes(word.try_into().unwrap())).collect(),
            other => panic!("{other} is no type of floats"),
        }
    }

    pub fn numbers(&self, name: &str) -> Vec<usize> {
        assert_eq!(attribute_of(self.tag(name), "type"), "Int32");
        self.bytes(name).chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().unwrap()) as usize).collect()
    }

    /// Whether arrays follow each other to the end.
    pub fn is_complete(&self) -> bool {
        assert!(self.tags.contains("compressor=\"vtkZLibDataCompressor\""));
        let names = self.tags.split(" Name=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0);
        let unescaped =
            |name: &str| name.replace("&quot;", "\"").replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&");
        let mut places: Vec<_> = names.map(|name| self.place(&unescaped(name))).collect();
        places.sort_unstable();
        let end = places.iter().try_fold(0, |end, &(begin, length)| (begin == end).then_some(end + length));
        end == Some(self.data.len())
    }
}

fn attribute_of<'a>(tags: &'a str, name: &str) -> &'a str {
    tags.split_once(&format!(" {name}=\"")).unwrap().1.split_once('"').unwrap().0
}

/// A CPU that counts the bytes of its vectors and matrices.
pub struct Counting {
    cpu: Cpu,
    bytes: AtomicU64,
}

impl Counting {
    pub fn new() -> Self {
        Self { cpu: Cpu::new(Some(2)).unwrap(), bytes: AtomicU64::new(0) }
    }

    /// Of all vectors and matrices so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn count<V>(&self, len: usize) {
        self.bytes.fetch_add((len * size_of::<V>()) as u64, Ordering::Relaxed);
    }
}

impl Backend for Counting {
    type Vector<T: Scalar> = Vector<T>;
    type AxisMatrix<T: Scalar> = AxisMatrix<T>;
    type Recording = ();

    fn info(&self) -> DeviceInfo {
        self.cpu.info()
    }

    fn zeros<T: Scalar>(&self, len: usize) -> Result<Vector<T>> {
        self.count::<T>(len);
        self.cpu.zeros(len)
    }

    fn axis_matrix<T: Scalar>(&self, matrix: &AxisMatrix<f64>) -> Result<AxisMatrix<T>> {
        self.count::<T>(matrix.entries.len());
        self.count::<u32>(matrix.first.len());
        self.count::<u32>(matrix.count.len());
        self.cpu.axis_matrix(matrix)
    }

    /// As a GPU does.
    fn dense_axis_matrix<T: Scalar>(&self, matrix: &AxisMatrix<f64>) -> Result<AxisMatrix<T>> {
        if matrix.is_large() {
            self.count::<f64>(patchmg_device::dense::matrix_words(matrix.rows, matrix.columns));
        }
        self.axis_matrix(matrix)
    }

    fn len<T: Scalar>(&self, vector: &Vector<T>) -> usize {
        self.cpu.len(vector)
    }

    fn upload<T: Scalar>(&self, host: &[T], vector: &mut Vector<T>) -> Result<()> {
        self.cpu.upload(host, vector)
    }

    fn download<T: Scalar>(&self, vector: &Vector<T>, host: &mut [T]) -> Result<()> {
        self.cpu.download(vector, host)
    }

    fn synchronize(&self) -> Result<()> {
        self.cpu.synchronize()
    }

    fn set_zero<T: Scalar>(&self, x: &mut Vector<T>) -> Result<()> {
        self.cpu.set_zero(x)
    }

    fn convert<S: Scalar, T: Scalar>(&self, alpha: f64, x: &Vector<S>, y: &mut Vector<T>) -> Result<()> {
        self.cpu.convert(alpha, x, y)
    }

    fn axpby_first<T: Scalar>(
        &self,
        entries: usize,
        alpha: f64,
        x: &Vector<T>,
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        self.cpu.axpby_first(entries, alpha, x, beta, y)
    }

    fn diagonal_axpby_first<T: Scalar>(
        &self,
        entries: usize,
        alpha: f64,
        d: &Vector<T>,
        x: &Vector<T>,
        beta: f64,
        y: &mut Vector<T>,
    ) -> Result<()> {
        self.cpu.diagonal_axpby_first(entries, alpha, d, x, beta, y)
    }

    fn apply_along_axis<T: Scalar>(
        &self,
        matrix: &AxisMatrix<T>,
        tensors: Tensors,
        x: &Vector<T>,
        y: &mut Vector<T>,
        add: bool,
    ) -> Result<()> {
        self.cpu.apply_along_axis(matrix, tensors, x, y, add)
    }

    fn outer_products<T: Scalar>(&self, tensor: &OuterProducts, y: &mut Vector<T>, add: bool) -> Result<()> {
        self.cpu.outer_products(tensor, y, add)
    }

    fn evaluate<T: Scalar>(
        &self,
        f: &Program,
        grid: &WeightedGrid,
        derivative: Option<usize>,
        y: &mut Vector<T>,
        subtract: bool,
    ) -> Result<()> {
        self.cpu.evaluate(f, grid, derivative, y, subtract)
    }

    fn divide<T: Scalar>(&self, x: &Vector<T>, d: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.cpu.divide(x, d, y)
    }

    fn dots<T: Scalar>(&self, xs: &[&Vector<T>], y: &Vector<T>) -> Result<Vec<f64>> {
        self.cpu.dots(xs, y)
    }

    fn combine<X: Scalar, T: Scalar>(&self, c: &[f64], xs: &[&Vector<X>], beta: f64, y: &mut Vector<T>) -> Result<()> {
        self.cpu.combine(c, xs, beta, y)
    }

    fn combine_dots<T: Scalar>(&self, c: &[f64], xs: &[&Vector<T>], y: &mut Vector<T>) -> Result<Vec<f64>> {
        self.cpu.combine_dots(c, xs, y)
    }
}
