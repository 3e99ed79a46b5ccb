//! Arrays as VTK compresses them (`vtkZLibDataCompressor`): blocks of one size, each a stream of zlib, behind a table of their sizes.

use crate::backend::cpu::parallel;
use miniz_oxide::deflate::compress_to_vec_zlib;
use std::io::{self, Seek, SeekFrom, Write};

/// Bytes of a block before compression.
const BLOCK: u64 = 64 << 10;
/// Bytes that are compressed at once, by all threads.
const GROUP: u64 = 64 * BLOCK;
/// Level of compression: higher ones take several times as long for files that are a tenth smaller.
const LEVEL: u8 = 1;
/// Bytes that compression may add to a block.
const MOST_ADDED: u64 = 256;
/// Bytes of a compressor's tables.
const COMPRESSOR: u64 = 320 << 10;

/// Bytes of memory that [`write`] takes at most.
pub fn memory() -> u64 {
    let blocks_at_once = (parallel::threads() as u64).min(GROUP / BLOCK);
    // A block that is compressed lies in a vector of up to twice its size.
    GROUP + 2 * GROUP + blocks_at_once * COMPRESSOR
}

/// Bytes of an array of `length` bytes at most, with its table.
pub fn most_bytes(length: u64) -> u64 {
    table_bytes(length) + length + MOST_ADDED * length.div_ceil(BLOCK)
}

/// Three numbers and the size of each block.
fn table_bytes(length: u64) -> u64 {
    8 * (3 + length.div_ceil(BLOCK))
}

/// Writes the `length` bytes that `fill` writes.
///
/// # Errors
/// Those of `file` and `fill`; if `fill` writes more or fewer bytes.
pub fn write<F: Write + Seek>(
    file: &mut F,
    length: u64,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let table_at = file.stream_position()?;
    // Its place, until the sizes are known.
    io::copy(&mut io::Read::take(io::repeat(0), table_bytes(length)), file)?;
    let mut blocks = Blocks { file, pending: Vec::new(), sizes: Vec::new(), length: 0 };
    fill(&mut blocks)?;
    blocks.compress()?;
    let Blocks { sizes, length: written, .. } = blocks;
    if written != length {
        return Err(io::Error::other(format!("an array has {written} bytes, not {length}")));
    }
    let end = file.stream_position()?;
    file.seek(SeekFrom::Start(table_at))?;
    for number in [sizes.len() as u64, BLOCK, length % BLOCK].into_iter().chain(sizes) {
        file.write_all(&number.to_le_bytes())?;
    }
    file.seek(SeekFrom::Start(end))?;
    Ok(())
}

/// Compresses what is written.
struct Blocks<'a, F> {
    file: &'a mut F,
    /// Not compressed yet; fewer than a group.
    pending: Vec<u8>,
    /// Bytes of each block.
    sizes: Vec<u64>,
    /// Bytes that were written.
    length: u64,
}

impl<F: Write> Blocks<'_, F> {
    fn compress(&mut self) -> io::Result<()> {
        let blocks: Vec<&[u8]> = self.pending.chunks(BLOCK as usize).collect();
        let compressed =
            parallel::try_map(blocks.len(), |block| Ok::<_, io::Error>(compress_to_vec_zlib(blocks[block], LEVEL)))?;
        for block in compressed {
            self.file.write_all(&block)?;
            self.sizes.push(block.len() as u64);
        }
        self.pending.clear();
        Ok(())
    }
}

impl<F: Write> Write for Blocks<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(GROUP as usize - self.pending.len());
        self.pending.extend_from_slice(&bytes[..taken]);
        self.length += taken as u64;
        if self.pending.len() == GROUP as usize {
            self.compress()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        // Blocks are full, all but the last one.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compressed_array, random};
    use std::io::Cursor;

    /// Written behind other bytes, and read as the format is specified.
    fn comes_back(bytes: &[u8]) {
        let mut file = Cursor::new(Vec::new());
        file.write_all(b"before").unwrap();
        write(&mut file, bytes.len() as u64, |file| {
            // In pieces that are no blocks.
            bytes.chunks(1000).try_for_each(|piece| file.write_all(piece))
        })
        .unwrap();
        file.write_all(b"behind").unwrap();
        let file = file.into_inner();
        let (before, rest) = file.split_at(6);
        let (array, length) = compressed_array(rest);
        assert_eq!((before, &rest[length..]), (&b"before"[..], &b"behind"[..]));
        assert!(array == bytes, "{} bytes became {}", bytes.len(), array.len());
        assert!(length as u64 <= most_bytes(bytes.len() as u64), "{length} bytes of {}", bytes.len());
    }

    #[test]
    fn arrays_of_any_length_come_back() {
        let bytes: Vec<u8> =
            random(GROUP as usize / 4 + 100_000, 1).iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, GROUP - 1, GROUP, GROUP + 1, GROUP + 3 * BLOCK + 7] {
            comes_back(&bytes[..length as usize]);
        }
        comes_back(&vec![0; GROUP as usize]);
        // What does not get smaller.
        comes_back(
            &random(1 << 18, 2)
                .iter()
                .flat_map(|x| x.exp().to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
                .collect::<Vec<_>>(),
        );
    }

    #[test]
    fn arrays_of_another_length_are_refused() {
        for length in [0, 2, 4] {
            let error = write(&mut Cursor::new(Vec::new()), length, |file| file.write_all(b"abc")).unwrap_err();
            assert_eq!(error.to_string(), format!("an array has 3 bytes, not {length}"));
        }
    }
}
