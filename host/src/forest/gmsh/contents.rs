//! What a file holds.

use super::element::{ALLOWED, Kind, name};
use super::tokens::Tokens;
use crate::error::{Result, in_mesh_file};
use glam::DVec3;
use std::collections::HashMap;
use std::fmt;

/// Nodes and elements under the numbers that the file gives them.
pub(super) struct Contents {
    pub nodes: Vec<Node>,
    pub elements: Vec<Element>,
    /// Numbers of the nodes of all elements.
    pub node_numbers: Vec<u64>,
    /// Number of lines.
    pub lines: usize,
}

pub(super) struct Node {
    pub line: usize,
    pub number: u64,
    pub place: DVec3,
}

pub(super) struct Element {
    pub line: usize,
    pub number: u64,
    pub kind: Kind,
    /// Physical groups.
    pub groups: Groups,
    /// Where its nodes begin in the list of those of all elements.
    pub first: usize,
}

/// Numbers of physical groups, shared by the elements of an entity.
pub(super) type Groups = std::sync::Arc<[u32]>;

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "element {}", self.number)
    }
}

/// Physical groups by dimension and number of an entity.
type Entities = HashMap<(u64, i64), Groups>;

impl Contents {
    /// From the bytes of a file.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut tokens = Tokens::new(bytes);
        let is_version_4 = read_format(&mut tokens)?;
        let mut contents = Self { nodes: Vec::new(), elements: Vec::new(), node_numbers: Vec::new(), lines: 0 };
        let (mut entities, mut found) = (None, [false; 2]);
        while let Some(word) = tokens.next() {
            let section = ["$Nodes", "$Elements"].iter().position(|name| name.as_bytes() == word);
            if section.is_some_and(|section| std::mem::replace(&mut found[section], true)) {
                return Err(tokens.refused("a section", Some(word), "there once"));
            }
            match word {
                b"$Nodes" if is_version_4 => contents.read_node_blocks(&mut tokens)?,
                b"$Nodes" => contents.read_nodes(&mut tokens)?,
                b"$Elements" if is_version_4 => contents.read_element_blocks(&mut tokens, entities.as_ref())?,
                b"$Elements" => contents.read_elements(&mut tokens)?,
                b"$Entities" if is_version_4 => entities = Some(read_entities(&mut tokens)?),
                b"$PartitionedEntities" => {
                    return Err(tokens.refused("a section", Some(word), "of a mesh without partitions"));
                }
                b"$ParametricNodes" => {
                    return Err(tokens.refused("a section", Some(word), "$Nodes, without parametric coordinates"));
                }
                [b'$', ..] => tokens.skip_section(word)?,
                _ => return Err(tokens.refused("a section", Some(word), "a name that begins with $")),
            }
        }
        for (found, name) in found.into_iter().zip(["$Nodes", "$Elements"]) {
            if !found {
                return Err(tokens.refused("a section", None, name));
            }
        }
        contents.lines = tokens.line;
        Ok(contents)
    }

    /// Numbers of the nodes of an element.
    pub fn nodes_of(&self, element: &Element) -> &[u64] {
        &self.node_numbers[element.first..element.first + element.kind.nodes]
    }

    /// Version 2.2.
    fn read_nodes(&mut self, tokens: &mut Tokens) -> Result<()> {
        for _ in 0..tokens.whole("the number of nodes")? {
            let (number, line) = (tokens.whole("the number of a node")?, tokens.line);
            let place = read_place(tokens)?;
            self.nodes.push(Node { line, number, place });
        }
        tokens.expect("$EndNodes")
    }

    /// Version 4.1.
    fn read_node_blocks(&mut self, tokens: &mut Tokens) -> Result<()> {
        let [blocks, count] = read_header(tokens, "the number of nodes")?;
        for _ in 0..blocks {
            let dim = read_dimension(tokens)?;
            tokens.signed("the number of an entity")?;
            let parameters = match tokens.whole("the mark of parametric coordinates")? {
                0 => 0,
                1 => dim,
                other => return Err(in_mesh_file(tokens.line, "the mark of parametric coordinates", other, "0 or 1")),
            };
            let first = self.nodes.len();
            for _ in 0..tokens.whole("the number of nodes")? {
                let number = tokens.whole("the number of a node")?;
                self.nodes.push(Node { line: tokens.line, number, place: DVec3::ZERO });
            }
            for node in &mut self.nodes[first..] {
                node.place = read_place(tokens)?;
                (0..parameters).try_for_each(|_| tokens.coordinate().map(drop))?;
            }
        }
        check_count(tokens, "the number of nodes", count, self.nodes.len())?;
        tokens.expect("$EndNodes")
    }

    /// Version 2.2.
    fn read_elements(&mut self, tokens: &mut Tokens) -> Result<()> {
        let mut known: HashMap<u32, Groups> = HashMap::new();
        for _ in 0..tokens.whole("the number of elements")? {
            let (number, line) = (tokens.whole("the number of an element")?, tokens.line);
            let code = tokens.whole("the type of an element")?;
            let mut group = 0;
            for tag in 0..tokens.whole("the number of tags")? {
                match tag {
                    0 => group = read_group(tokens)?,
                    _ => drop(tokens.signed("a tag")?),
                }
            }
            let own = || if group == 0 { Groups::default() } else { Groups::from([group]) };
            let groups = known.entry(group).or_insert_with(own).clone();
            self.read_element(tokens, line, number, code, groups)?;
        }
        tokens.expect("$EndElements")
    }

    /// Version 4.1.
    fn read_element_blocks(&mut self, tokens: &mut Tokens, entities: Option<&Entities>) -> Result<()> {
        let [blocks, count] = read_header(tokens, "the number of elements")?;
        for _ in 0..blocks {
            let dim = read_dimension(tokens)?;
            let entity = tokens.signed("the number of an entity")?;
            let groups = match entities.map(|entities| entities.get(&(dim, entity))) {
                Some(Some(groups)) => groups.clone(),
                None => Groups::default(),
                Some(None) => {
                    let what = format_args!("the entity of dimension {dim}");
                    return Err(in_mesh_file(tokens.line, what, entity, "one of those in $Entities"));
                }
            };
            let code = tokens.whole("the type of elements")?;
            for _ in 0..tokens.whole("the number of elements")? {
                let (number, line) = (tokens.whole("the number of an element")?, tokens.line);
                self.read_element(tokens, line, number, code, groups.clone())?;
            }
        }
        check_count(tokens, "the number of elements", count, self.elements.len())?;
        tokens.expect("$EndElements")
    }

    /// The nodes of an element.
    fn read_element(&mut self, tokens: &mut Tokens, line: usize, number: u64, code: u64, groups: Groups) -> Result<()> {
        let Some(kind) = Kind::of(code) else {
            return Err(in_mesh_file(line, format_args!("element {number}"), name(code), ALLOWED));
        };
        let first = self.node_numbers.len();
        for _ in 0..kind.nodes {
            self.node_numbers.push(tokens.whole("a node of an element")?);
        }
        self.elements.push(Element { line, number, kind, groups, first });
        Ok(())
    }
}

/// Whether the version is 4.1, not 2.2.
fn read_format(tokens: &mut Tokens) -> Result<bool> {
    tokens.expect("$MeshFormat")?;
    let version = tokens.next();
    let is_version_4 = match version {
        Some(b"2.2") => false,
        Some(b"4.1") => true,
        _ => return Err(tokens.refused("the version of the format", version, "2.2 or 4.1")),
    };
    match tokens.whole("the type of the file")? {
        0 => {}
        1 => return Err(in_mesh_file(tokens.line, "the type of the file", "1 (binary)", "0 (text)")),
        other => return Err(in_mesh_file(tokens.line, "the type of the file", other, "0 (text)")),
    }
    tokens.whole("the size of numbers")?;
    tokens.expect("$EndMeshFormat")?;
    Ok(is_version_4)
}

/// Physical groups of entities, of version 4.1.
fn read_entities(tokens: &mut Tokens) -> Result<Entities> {
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = tokens.whole("the number of entities")?;
    }
    let mut entities = Entities::new();
    for (dim, count) in (0..).zip(counts) {
        for _ in 0..count {
            let number = tokens.signed("the number of an entity")?;
            // A point, or a box.
            let coordinates = if dim == 0 { 3 } else { 6 };
            (0..coordinates).try_for_each(|_| tokens.coordinate().map(drop))?;
            let mut groups = Vec::new();
            for _ in 0..tokens.whole("the number of physical groups")? {
                groups.push(read_group(tokens)?);
            }
            if dim > 0 {
                for _ in 0..tokens.whole("the number of boundary entities")? {
                    tokens.signed("a boundary entity")?;
                }
            }
            entities.insert((dim, number), groups.into());
        }
    }
    tokens.expect("$EndEntities")?;
    Ok(entities)
}

/// A physical group without its sign, which is an orientation.
fn read_group(tokens: &mut Tokens) -> Result<u32> {
    let (what, allowed) = ("a physical group", "a whole number below 2^32");
    let group = tokens.number::<i64>(what, allowed)?.unsigned_abs();
    u32::try_from(group).map_err(|_| in_mesh_file(tokens.line, what, group, allowed))
}

/// Numbers of blocks and of what they hold in all; of the smallest and the largest number nothing follows.
fn read_header(tokens: &mut Tokens, what: &'static str) -> Result<[u64; 2]> {
    let header = [tokens.whole("the number of blocks")?, tokens.whole(what)?];
    tokens.whole("the smallest number")?;
    tokens.whole("the largest number")?;
    Ok(header)
}

fn check_count(tokens: &Tokens, what: &str, expected: u64, found: usize) -> Result<()> {
    if found as u64 == expected {
        return Ok(());
    }
    Err(in_mesh_file(tokens.line, what, found, format_args!("{expected} as the section's first line has it")))
}

fn read_dimension(tokens: &mut Tokens) -> Result<u64> {
    let (what, allowed) = ("the dimension of an entity", "0 to 3");
    let dim = tokens.number(what, allowed)?;
    if dim <= 3 { Ok(dim) } else { Err(in_mesh_file(tokens.line, what, dim, allowed)) }
}

fn read_place(tokens: &mut Tokens) -> Result<DVec3> {
    Ok(DVec3::new(tokens.coordinate()?, tokens.coordinate()?, tokens.coordinate()?))
}
