//! Ruby and PHP.

use serde_json::Value;

use super::{Finds, Kind};

/// Notes the tests, and the linters there are settings for.
pub(super) fn find(finds: &mut Finds<'_>) {
    ruby(finds);
    php(finds);
}

fn ruby(finds: &mut Finds<'_>) {
    let folder = finds.folder;
    if !folder.has("Gemfile") {
        return;
    }
    if folder.has(".rspec") || folder.has("spec/") {
        let because = folder.first_of(&[".rspec", "Gemfile"]).unwrap_or("Gemfile");
        finds.add("ruby", Kind::Tests, "bundle exec rspec", because);
    } else if folder.has("bin/") && folder.says("Gemfile", "rails") && folder.has("test/") {
        finds.add("ruby", Kind::Tests, "bin/rails test", "Gemfile");
    } else if folder.says("Rakefile", "TestTask") || folder.says("Rakefile", "task :test") {
        finds.add("ruby", Kind::Tests, "bundle exec rake test", "Rakefile");
    }
    if folder.has(".rubocop.yml") {
        finds.add("ruby", Kind::Lint, "bundle exec rubocop", ".rubocop.yml");
    }
}

fn php(finds: &mut Finds<'_>) {
    let (folder, manifest) = (finds.folder, "composer.json");
    if !folder.has(manifest) {
        return;
    }
    let said = serde_json::from_str::<Value>(folder.content(manifest)).unwrap_or_default();
    let settings = folder.first_of(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]);
    if said["scripts"].get("test").is_some() {
        finds.add("php", Kind::Tests, "composer test", manifest);
    } else if folder.says(manifest, "pestphp/pest") {
        finds.add("php", Kind::Tests, "vendor/bin/pest", manifest);
    } else if let Some(because) = settings {
        finds.add("php", Kind::Tests, "vendor/bin/phpunit", because);
    }
    if let Some(because) = folder.first_of(&["phpstan.neon", "phpstan.neon.dist"]) {
        finds.add("php", Kind::Lint, "vendor/bin/phpstan analyse", because);
    }
}
