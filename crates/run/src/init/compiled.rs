//! Languages whose build tool runs their tests.

use super::{Finds, Kind};

/// A tool that is told by one file: the file, its family and what it runs.
const BY_FILE: &[(&str, &str, &str)] = &[
    ("mix.exs", "mix", "mix test"),
    ("Package.swift", "swift", "swift test"),
    ("build.zig", "zig", "zig build test"),
    ("build.sbt", "sbt", "sbt test"),
    ("dune-project", "dune", "dune test"),
    ("stack.yaml", "haskell", "stack test"),
    ("cabal.project", "haskell", "cabal test all"),
    ("project.clj", "lein", "lein test"),
    ("MODULE.bazel", "bazel", "bazel test //..."),
];

const CTEST: &str =
    "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";

/// Notes the tests of a folder's languages, and the linters it has settings for.
pub(super) fn find(finds: &mut Finds<'_>) {
    cargo(finds);
    go(finds);
    java(finds);
    dotnet(finds);
    for (file, tool, run) in BY_FILE {
        if finds.folder.has(file) {
            finds.add(tool, Kind::Tests, run, file);
        }
    }
    if finds.folder.has("mix.exs") && finds.folder.has(".credo.exs") {
        finds.add("mix", Kind::Lint, "mix credo", ".credo.exs");
    }
    let lists = "CMakeLists.txt";
    let tests = ["enable_testing(", "include(CTest)"];
    if tests.iter().any(|it| finds.folder.says(lists, it)) {
        finds.add("cmake", Kind::Tests, CTEST, lists);
    }
    dart(finds);
}

fn cargo(finds: &mut Finds<'_>) {
    let (folder, manifest) = (finds.folder, "Cargo.toml");
    if !folder.has(manifest) {
        return;
    }
    // Without it only the package in the top folder would be tested.
    let all = if folder.says(manifest, "[workspace") {
        " --workspace"
    } else {
        ""
    };
    finds.add("cargo", Kind::Tests, &format!("cargo test{all}"), manifest);
    let lints = ["[lints.clippy", "[workspace.lints.clippy"];
    let says = lints.iter().any(|it| folder.says(manifest, it));
    let file = folder.first_of(&["clippy.toml", ".clippy.toml"]);
    if let Some(because) = file.or(says.then_some(manifest)) {
        let run = format!("cargo clippy{all} --all-targets -- -D warnings");
        finds.add("cargo", Kind::Lint, &run, because);
        if let Some(last) = finds.last() {
            last.program = Some("cargo-clippy".to_owned());
        }
    }
    if let Some(because) = folder.first_of(&["rustfmt.toml", ".rustfmt.toml"]) {
        finds.add("cargo", Kind::Format, "cargo fmt --all --check", because);
        if let Some(last) = finds.last() {
            last.program = Some("cargo-fmt".to_owned());
        }
    }
}

fn go(finds: &mut Finds<'_>) {
    let folder = finds.folder;
    if !folder.has("go.mod") {
        return;
    }
    finds.add("go", Kind::Tests, "go test ./...", "go.mod");
    let settings = [
        ".golangci.yml",
        ".golangci.yaml",
        ".golangci.toml",
        ".golangci.json",
    ];
    match folder.first_of(&settings) {
        Some(because) => finds.add("go", Kind::Lint, "golangci-lint run", because),
        None => finds.add("go", Kind::Lint, "go vet ./...", "go.mod"),
    }
}

fn java(finds: &mut Finds<'_>) {
    let folder = finds.folder;
    let gradle = [
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
    ];
    if folder.has("gradlew") {
        finds.add("gradle", Kind::Tests, "./gradlew test", "gradlew");
    } else if let Some(because) = folder.first_of(&gradle) {
        finds.add("gradle", Kind::Tests, "gradle test", because);
    }
    if !folder.has("pom.xml") {
        return;
    }
    if folder.has("mvnw") {
        finds.add("maven", Kind::Tests, "./mvnw -B test", "mvnw");
    } else {
        finds.add("maven", Kind::Tests, "mvn -B test", "pom.xml");
    }
}

fn dotnet(finds: &mut Finds<'_>) {
    let endings = [".sln", ".slnx", ".csproj", ".fsproj"];
    let folder = finds.folder;
    if let Some(file) = endings.iter().find_map(|it| folder.has_ending(it)) {
        finds.add("dotnet", Kind::Tests, "dotnet test", file);
    }
}

fn dart(finds: &mut Finds<'_>) {
    let (folder, manifest) = (finds.folder, "pubspec.yaml");
    if !folder.has(manifest) || !folder.has("test/") {
        return;
    }
    let run = if folder.says(manifest, "sdk: flutter") {
        "flutter test"
    } else {
        "dart test"
    };
    finds.add("dart", Kind::Tests, run, manifest);
}
