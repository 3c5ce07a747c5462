//! Sibling modules of a crate must not import each other in a circle. An import of something deep
//! inside another module counts for the two siblings above both, where their paths first differ.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, UseTree};

/// The path of a module, or of what it imports, from the root of its crate.
type Names = Vec<String>;

/// For each parent, which of its modules imports which, with one import as an example.
type Edges = BTreeMap<Names, BTreeMap<(String, String), String>>;

/// The parent and its modules that need each other, with one import for each edge.
type Cycles = BTreeMap<(String, String), Vec<String>>;

/// What the production code of a crate imports, module by module.
struct Imports {
    of: BTreeMap<Names, Vec<Names>>,
    source: PathBuf,
    /// The module that is being read.
    module: Names,
}

impl Imports {
    fn read(&mut self, file: &Path) {
        let text = fs::read_to_string(file).unwrap();
        self.visit_file(&syn::parse_file(&text).unwrap());
    }

    /// Notes a path that begins at the crate or near this module; others are of other crates, of
    /// modules inside this one, or of names that were imported.
    fn note(&mut self, path: &[String]) {
        let above = path.iter().take_while(|name| *name == "super").count();
        let start = match path.first().map(String::as_str) {
            Some("crate") => &[],
            Some("self") => self.module.as_slice(),
            Some("super") => &self.module[..self.module.len().saturating_sub(above)],
            _ => return,
        };
        let target = [start, &path[above.max(1)..]].concat();
        self.of.entry(self.module.clone()).or_default().push(target);
    }

    /// Notes the paths in what is not parsed: the arguments of macros and attributes.
    fn note_tokens(&mut self, tokens: &str) {
        let text = tokens.replace(" :: ", "::");
        for word in text.split(|it: char| it != ':' && it != '_' && !it.is_alphanumeric()) {
            let path: Names = word.split("::").map(str::to_owned).collect();
            self.note(&path);
        }
    }

    fn note_use(&mut self, tree: &UseTree, mut path: Names) {
        match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                return self.note_use(&inner.tree, path);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.note_use(tree, path.clone());
                }
                return;
            }
            UseTree::Name(name) => path.push(name.ident.to_string()),
            UseTree::Rename(rename) => path.push(rename.ident.to_string()),
            UseTree::Glob(_) => {}
        }
        self.note(&path);
    }

    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (module, paths) in &self.of {
            for path in paths {
                let lengths = (0..=path.len()).rev();
                let mut modules = lengths.map(|length| &path[..length]);
                let target = modules.find(|it| self.of.contains_key(*it)).unwrap();
                let mut both = module.iter().zip(target);
                let Some(at) = both.position(|(from, to)| from != to) else {
                    continue;
                };
                let pair = (module[at].clone(), target[at].clone());
                let example = format!("{} imports {}", module.join("::"), path.join("::"));
                let siblings = edges.entry(module[..at].to_vec()).or_default();
                siblings.entry(pair).or_insert(example);
            }
        }
        edges
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if is_test(&module.attrs) {
            return;
        }
        self.module.push(module.ident.to_string());
        self.of.insert(self.module.clone(), Vec::new());
        match &module.content {
            Some(_) => visit::visit_item_mod(self, module),
            None => self.read(&self.source.join(self.module.join("/")).with_extension("rs")),
        }
        self.module.pop();
    }

    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Use(it) if !is_test(&it.attrs) => self.note_use(&it.tree, Names::new()),
            Item::Use(_) => {}
            Item::Fn(syn::ItemFn { attrs, .. }) | Item::Impl(syn::ItemImpl { attrs, .. })
                if is_test(attrs) => {}
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !matches!(item, ImplItem::Fn(it) if is_test(&it.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|it| it.ident.to_string());
        self.note(&names.collect::<Names>());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        self.note_tokens(&it.tokens.to_string());
    }

    fn visit_meta_list(&mut self, it: &'ast syn::MetaList) {
        self.note_tokens(&it.tokens.to_string());
    }
}

/// True for `#[cfg(test)]` and the like.
fn is_test(attributes: &[Attribute]) -> bool {
    let lists = attributes
        .iter()
        .filter_map(|it| it.meta.require_list().ok());
    let mut conditions = lists.filter(|it| it.path.is_ident("cfg"));
    conditions.any(|it| it.tokens.to_string().contains("test"))
}

/// The cycles of the crate in a folder.
fn cycles(folder: &Path) -> Cycles {
    let mut imports = Imports {
        of: BTreeMap::from([(Names::new(), Vec::new())]),
        source: folder.join("src"),
        module: Names::new(),
    };
    imports.read(&folder.join("src/lib.rs"));
    let name = folder.file_name().unwrap().to_str().unwrap();
    let mut cycles = Cycles::new();
    for (parent, edges) in imports.edges() {
        let parent = [&[name.to_owned()], parent.as_slice()].concat().join("::");
        for (module, _) in edges.keys() {
            let mut members = reached(&edges, module);
            members.retain(|it| reached(&edges, it).contains(module.as_str()));
            if members.is_empty() {
                continue;
            }
            let is_inside = |name: &String| members.contains(name.as_str());
            let inside = edges
                .iter()
                .filter(|((from, to), _)| is_inside(from) && is_inside(to));
            let examples = inside.map(|(_, example)| example.clone()).collect();
            let members: Vec<&str> = members.iter().copied().collect();
            cycles.insert((parent.clone(), members.join(" ")), examples);
        }
    }
    cycles
}

/// What a module imports, and what that imports, and so on.
fn reached<'a>(edges: &'a BTreeMap<(String, String), String>, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for (_, to) in edges.keys().filter(|(from, _)| from == module) {
            if reached.insert(to.as_str()) {
                open.push(to);
            }
        }
    }
    reached
}

#[test]
fn modules_do_not_import_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = fs::read_dir(crates).unwrap().map(|it| it.unwrap().path());
    let found: Cycles = folders.flat_map(|folder| cycles(&folder)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_cycle_is_found_with_its_imports() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("made_up");
    let files = [
        (
            "lib.rs",
            "mod a; mod b { use crate::c; } mod c; mod d; #[cfg(test)] mod t;",
        ),
        ("a.rs", "mod inner;"),
        (
            "a/inner.rs",
            "use {std::fs, super::super::b::{self, Thing as Other}};",
        ),
        (
            "c.rs",
            "fn f() { assert!(crate::a::inner::g() && crate::d::h()); }",
        ),
        (
            "d.rs",
            "#[cfg(test)] mod tests { use crate::a; } #[cfg(test)] fn f() { crate::a::g() }",
        ),
    ];
    fs::create_dir_all(root.join("src/a")).unwrap();
    for (name, text) in files {
        fs::write(root.join("src").join(name), text).unwrap();
    }
    let imports = [
        "a::inner imports b::self",
        "b imports c",
        "c imports a::inner::g",
    ];
    let cycle = ("made_up".to_owned(), "a b c".to_owned());
    assert_eq!(
        cycles(&root),
        Cycles::from([(cycle, imports.map(str::to_owned).to_vec())])
    );
}
