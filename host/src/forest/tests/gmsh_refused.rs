//! Meshes of Gmsh: what is refused.

use super::gmsh_text::{CELLS, MeshText, listings};
use super::*;
use crate::Error;

const HEADER: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n";
const VERSIONS: [&str; 2] = ["2.2", "4.1"];

/// The message, in a file of each version; the line is left out.
fn refused(text: &MeshText) -> String {
    let messages = VERSIONS.map(|version| {
        let error = CoarseMesh::from_gmsh(text.write(version)).unwrap_err();
        let Error::MeshFile { line, what, found, allowed } = error else { panic!("{error}") };
        assert!((1..=text.write(version).lines().count()).contains(&line));
        format!("{what} is {found}, but must be {allowed}")
    });
    assert_eq!(messages[0], messages[1]);
    messages.into_iter().next().unwrap()
}

fn message(text: &str) -> String {
    CoarseMesh::from_gmsh(text).unwrap_err().to_string()
}

/// Unit squares side by side: nodes 1 to 3 below, 4 to 6 above; elements 11 and 12.
fn squares() -> MeshText {
    let nodes = (1..).zip([[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]);
    let nodes = nodes.map(|(number, [x, y])| (number, DVec3::new(f64::from(x), f64::from(y), 0.0))).collect();
    let elements = vec![(11, 3, 1, vec![1, 2, 5, 4]), (12, 3, 1, vec![2, 3, 6, 5])];
    MeshText { nodes, elements }
}

fn changed(change: impl FnOnce(&mut MeshText)) -> MeshText {
    let mut text = squares();
    change(&mut text);
    text
}

#[test]
fn other_types_of_elements_are_refused() {
    let types = [
        (2, "a triangle of 3 nodes (type 2)"),
        (4, "a tetrahedron of 4 nodes (type 4)"),
        (6, "a prism of 6 nodes (type 6)"),
        (7, "a pyramid of 5 nodes (type 7)"),
        (9, "a triangle of 6 nodes (type 9)"),
        (36, "a quadrangle of 16 nodes (type 36)"),
        (1000, "of type 1000"),
    ];
    for (code, name) in types {
        let expected = format!(
            "element 13 is {name}, but must be a point, a line of 2 or 3 nodes, a quadrangle of 4, 8 or 9, or a hexahedron \
             of 8, 20 or 27"
        );
        assert_eq!(refused(&changed(|text| text.elements.push((13, code, 0, vec![1, 2, 5])))), expected);
    }
    let lines = changed(|text| text.elements = vec![(1, 1, 0, vec![1, 2])]);
    assert_eq!(refused(&lines), "the number of quadrangles and hexahedra is 0, but must be at least 1");
}

#[test]
fn bad_nodes_are_refused() {
    assert_eq!(
        refused(&changed(|text| text.elements[1].3[2] = 99)),
        "a node of element 12 is 99, but must be one of the nodes of the file, once"
    );
    assert_eq!(
        refused(&changed(|text| text.elements[1].3[2] = 2)),
        "a node of element 12 is 2, but must be one of the nodes of the file, once"
    );
    assert_eq!(refused(&changed(|text| text.nodes[5].0 = 1)), "a node is 1 twice, but must be there once");
    assert_eq!(
        refused(&changed(|text| text.nodes.push((77, DVec3::ONE)))),
        "node 77 is in no element, but must be in a quadrangle or a hexahedron"
    );
    assert_eq!(
        refused(&changed(|text| text.nodes[2].1.z = 0.25)),
        "z of node 3 is 0.25, but must be 0 as of node 1 in 2D"
    );
    assert_eq!(
        refused(&changed(|text| text.nodes[2].1.x = f64::INFINITY)),
        "a coordinate is inf, but must be a finite number"
    );
    let line = |coordinate: &str| message(&squares().write("2.2").replace("3 2 0 0", &format!("3 {coordinate} 0 0")));
    assert_eq!(line("1e999"), "line 8: a coordinate is inf, but must be a finite number");
    assert_eq!(line("NaN"), "line 8: a coordinate is NaN, but must be a finite number");
    assert_eq!(line("two"), "line 8: a coordinate is 'two', but must be a finite number");
}

#[test]
fn inverted_cells_are_refused() {
    // Positive at three vertices only.
    let arrow = changed(|text| text.nodes[4].1 = DVec3::new(0.4, 0.4, 0.0));
    assert!(
        refused(&arrow).starts_with("the Jacobian determinant of element 11 is -0.1")
            && refused(&arrow).contains("of one sign"),
        "{}",
        refused(&arrow)
    );
    let crossed = changed(|text| text.elements[1].3 = vec![2, 6, 3, 5]);
    assert!(refused(&crossed).starts_with("the Jacobian determinant of element 12 is "));
    // Curved so far that an edge passes the opposite one.
    for code in CELLS.into_iter().filter(|code| ![3, 5].contains(code)) {
        let text = MeshText::of_cell(code, |x| x.with_y(x.y - 6.0 * x.y * x.x * (1.0 - x.x)));
        assert!(refused(&text).contains("of one sign: the cell is inverted there"), "type {code}");
    }
    let mut hexahedron = MeshText::of_cell(5, |x| x);
    hexahedron.elements[0].3.swap(0, 1);
    assert!(refused(&hexahedron).starts_with("the Jacobian determinant of element 1 is "));
}

#[test]
fn meshes_that_do_not_conform_are_refused() {
    // Folded over: the second square is on the first.
    let folded = changed(|text| {
        text.nodes[2].1.x = 0.25;
        text.nodes[5].1.x = 0.25;
    });
    assert_eq!(
        refused(&folded),
        "a face is that of nodes [2, 5], with elements 11 and 12 on one side, but must be between its two cells"
    );
    let three = changed(|text| {
        text.nodes.extend([(7, DVec3::new(1.5, -1.0, 0.0)), (8, DVec3::new(1.5, 0.9, 0.0))]);
        text.elements.push((13, 3, 0, vec![2, 7, 8, 5]));
    });
    assert_eq!(refused(&three), "the number of cells is 3 at the face of nodes [2, 5], but must be 1 or 2");
    let twice = changed(|text| text.elements.push((14, 3, 2, vec![1, 2, 5, 4])));
    assert_eq!(
        refused(&twice),
        "the contact of two cells is nodes [1, 2, 4, 5] of elements 11 and 14, but must be one vertex, edge or face of both"
    );
    // Two cells above one.
    let hanging = changed(|text| {
        text.nodes[4].1 = DVec3::new(1.0, 1.0, 0.0);
        text.nodes.extend([(7, DVec3::new(0.0, -2.0, 0.0)), (8, DVec3::new(2.0, -2.0, 0.0))]);
        text.elements.push((13, 3, 0, vec![7, 8, 3, 1]));
    });
    assert_eq!(
        refused(&hanging),
        "node 2 is inside of the edge of nodes [1, 3] of element 13, but must be on no edge that it is not an end of: nodes \
         hang there"
    );
}

#[test]
fn hanging_nodes_of_hexahedra_are_refused() {
    // A cube, and a quarter of the next one.
    let mut text = MeshText::of_cell(5, |x| x);
    let small = MeshText::of_cell(5, |x| 0.5 * x + DVec3::X);
    for (number, x) in small.nodes {
        let known = text.nodes.iter().find(|node| node.1 == x).map(|node| node.0);
        let known = known.unwrap_or_else(|| {
            text.nodes.push((100 + number, x));
            100 + number
        });
        if number == 1 {
            text.elements.push((2, 5, 0, Vec::new()));
        }
        text.elements[1].3.push(known);
    }
    let message = refused(&text);
    assert!(message.contains("inside of the edge of nodes") && message.contains("of element 1,"), "{message}");
}

#[test]
fn neighbours_with_other_nodes_on_their_edge_are_refused() {
    // A straight cell beside one with nodes on its edges.
    let mut text = MeshText::of_two_cells(16, &listings(16)[0], |x| x);
    let vertices = text.elements[1].3[..4].to_vec();
    let left = text.elements[1].3[4..].to_vec();
    text.elements[1] = (20, 3, 1, vertices.clone());
    text.nodes.retain(|node| !left.contains(&node.0) || text.elements[0].3.contains(&node.0));
    let message = refused(&text);
    assert!(message.starts_with("the middle of the edge of nodes [") && message.contains("is no node"), "{message}");
    assert!(message.ends_with("as in element 10"), "{message}");
    // The middle of an edge that is a vertex of the next cell: it hangs.
    let mut text = MeshText::of_cell(16, |x| x);
    text.nodes.extend([(20, DVec3::new(2.0, 0.5, 0.0)), (21, DVec3::new(2.0, 1.0, 0.0))]);
    text.elements.push((2, 3, 0, vec![6, 20, 21, 3]));
    let message = refused(&text);
    assert!(message.contains("on no other edge and no vertex: nodes hang there"), "{message}");
}

#[test]
fn elements_that_are_no_faces_are_refused() {
    let diagonal = changed(|text| text.elements.push((13, 1, 3, vec![1, 5])));
    assert_eq!(refused(&diagonal), "element 13 is no face of a cell, but must be one of a cell, or of two");
    let outside = changed(|text| {
        text.nodes.push((9, DVec3::ONE.with_z(0.0) * 3.0));
        text.elements.push((13, 1, 3, vec![6, 9]));
    });
    assert_eq!(refused(&outside), "node 9 of element 13 is in no cell, but must be a node of a cell");
    let two_groups = changed(|text| {
        text.elements.push((13, 1, 3, vec![1, 2]));
        text.elements.push((14, 1, 4, vec![2, 1]));
    });
    assert_eq!(
        refused(&two_groups),
        "the physical group of element 14 is 3 and 4, but must be one, or none, at the boundary"
    );
    let of_entity = two_groups.write("4.1").replace("1 3 2 1 -2", "2 3 5 2 1 -2");
    assert!(message(&of_entity).contains("the physical group of element 13 is 3 and 5"), "{}", message(&of_entity));
}

#[test]
fn other_formats_are_refused() {
    assert_eq!(message(""), "line 1: the next word is missing: the file ends, but must be $MeshFormat");
    assert_eq!(message("solid cube"), "line 1: the next word is 'solid', but must be $MeshFormat");
    let format = |format: &str| message(&format!("$MeshFormat\n{format}\n$EndMeshFormat\n"));
    assert_eq!(format("4 0 8"), "line 2: the version of the format is '4', but must be 2.2 or 4.1");
    assert_eq!(format("4.1 1 8"), "line 2: the type of the file is 1 (binary), but must be 0 (text)");
    assert_eq!(format("2.2 0 8"), "line 3: a section is missing: the file ends, but must be $Nodes");
    let binary = [b"$MeshFormat\n2.2 1 8\n".as_slice(), &[1, 0, 0, 0, 255, 254]].concat();
    assert!(CoarseMesh::from_gmsh(binary).unwrap_err().to_string().contains("1 (binary)"));
    assert_eq!(
        message(&format!("{HEADER}$PartitionedEntities\n")),
        "line 4: a section is '$PartitionedEntities', but must be of a mesh without partitions"
    );
    assert_eq!(
        message(&squares().write("2.2").replace("Nodes", "ParametricNodes")),
        "line 4: a section is '$ParametricNodes', but must be $Nodes, without parametric coordinates"
    );
    assert_eq!(message(&format!("{HEADER}12\n")), "line 4: a section is '12', but must be a name that begins with $");
    let text = squares().write("2.2");
    let twice = format!("{text}{}", &text[HEADER.len()..]);
    assert_eq!(message(&twice), "line 18: a section is '$Nodes', but must be there once");
    let missing = squares().write("4.1").replace("2 1 3 1\n12", "2 9 3 1\n12");
    assert!(message(&missing).contains("the entity of dimension 2 is 9, but must be one of those in $Entities"));
}

/// Sections that are not needed are passed over, whatever they hold.
#[test]
fn other_sections_are_ignored() {
    let text = squares().write("2.2");
    let with_names =
        text.replacen("$Nodes", "$PhysicalNames\n1\n2 1 \"p\u{e4}ivi $Nodes\"\n$EndPhysicalNames\n$Nodes", 1);
    let mut bytes = with_names.into_bytes();
    bytes.extend(b"$Comments\n\xff\xfe $Elements\n$EndComments\n");
    assert_eq!(CoarseMesh::from_gmsh(bytes).unwrap().cells(), 2);
    assert_eq!(CoarseMesh::from_gmsh(text.replace('\n', "\r\n")).unwrap().cells(), 2);
}

/// What a file may be cut to.
fn is_whole(text: &str, length: usize) -> bool {
    text[length..].trim().is_empty()
}

#[test]
fn truncated_files_are_refused() {
    for code in CELLS {
        for version in VERSIONS {
            let text = MeshText::of_two_cells(code, &listings(code)[1], |x| x).write(version);
            for length in 0..text.len() {
                let result = CoarseMesh::from_gmsh(&text[..length]);
                assert_eq!(result.is_ok(), is_whole(&text, length), "type {code}, {version}: {length} bytes");
            }
        }
    }
}

/// Counts and numbers that no file can hold neither allocate nor end the program.
#[test]
fn any_word_may_be_another_one() {
    let most = u64::MAX.to_string();
    let others =
        [most.as_str(), "18446744073709551616", "-1", "0", "3000000000", "1e308", "nan", "$EndNodes", "x", "7"];
    for version in VERSIONS {
        let text = changed(|text| text.elements.push((13, 1, 3, vec![1, 2]))).write(version);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let mut refused = 0;
        for place in 0..words.len() {
            for other in others {
                let mut words = words.clone();
                words[place] = other;
                refused += usize::from(CoarseMesh::from_gmsh(words.join(" ")).is_err());
            }
        }
        assert!(refused > 5 * words.len(), "{refused} of {}", others.len() * words.len());
    }
}

#[test]
fn files_that_are_not_there_are_named() {
    let error = CoarseMesh::from_gmsh_file(std::path::Path::new("no/such.msh")).unwrap_err();
    assert!(matches!(&error, Error::Io { path, .. } if path.ends_with("such.msh")), "{error}");
}
