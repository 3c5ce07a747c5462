//! The README shows the pictures that exist.

use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;

#[test]
fn the_readme_shows_each_picture_and_no_other() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let after = readme.split("](").skip(1);
    let links = after.filter_map(|rest| rest.split(')').next());
    let mut shown: Vec<&str> = links
        .filter(|link| link.starts_with("docs/pictures/"))
        .collect();
    shown.sort_unstable();
    let folder = fs::read_dir(root.join("docs/pictures")).unwrap();
    let mut there: Vec<String> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| format!("docs/pictures/{name}"))
        .collect();
    there.sort_unstable();
    assert_eq!(shown, there);
}
