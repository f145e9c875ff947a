//! The files of the repository, read once. Every rule of `tidy` is a function over
//! this, so its tests need no disk.
//!
//! What counts is what git tracks or would track: what `.gitignore` names is not seen.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Paths relative to the root, with `/` between parts, and their text. Files that are not UTF-8 have no text.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads the repository at `root`.
    pub(crate) fn read(root: &Path) -> Result<Tree, String> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(|error| {
                format!("cannot run git ({error}): install it, tidy asks it which files count")
            })?;
        if !output.status.success() {
            return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let mut tree = Tree::default();
        for path in String::from_utf8_lossy(&output.stdout).split('\0').filter(|path| !path.is_empty()) {
            // A file that is tracked but deleted, or a link to a folder, cannot be
            // read: neither is ours to judge.
            if let Ok(bytes) = std::fs::read(root.join(path)) {
                tree.files.insert(path.to_owned(), String::from_utf8(bytes).ok());
            }
        }
        Ok(tree)
    }

    /// A tree for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|&(path, text)| (path.to_owned(), Some(text.to_owned()))).collect();
        Tree { files }
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Every file that has a text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The files whose names end in `.extension`.
    pub(crate) fn with_extension(&self, extension: &str) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(move |(path, _)| Path::new(path).extension().is_some_and(|e| e == extension))
    }

    /// Every path, readable as text or not.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether `path` is a file or a folder that holds one.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        path.is_empty() || self.files.contains_key(path) || self.paths().any(|file| file.starts_with(&folder))
    }

    /// Whether the crate (or top folder) to which `path` belongs is there yet. A
    /// file at the root always counts.
    pub(crate) fn has_home_of(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates"), Some(name)) if !name.is_empty() => {
                self.files.contains_key(&format!("crates/{name}/Cargo.toml"))
            }
            (Some(top), Some(_)) => self.exists(top),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn folders_exist_through_their_files() {
        let tree = Tree::of(&[("crates/core/Cargo.toml", ""), ("README.md", "")]);
        for path in ["crates", "crates/core/", "crates/core/Cargo.toml", "README.md"] {
            assert!(tree.exists(path), "{path}");
        }
        assert!(!tree.exists("crates/cor"));
    }

    #[test]
    fn a_path_is_expected_only_when_its_crate_is_there() {
        let tree = Tree::of(&[("crates/core/Cargo.toml", ""), ("fuzz/x", "")]);
        for path in ["crates/core/src/lib.rs", "README.md", "fuzz/y"] {
            assert!(tree.has_home_of(path), "{path}");
        }
        for path in ["crates/http/src/lib.rs", "bench/"] {
            assert!(!tree.has_home_of(path), "{path}");
        }
    }
}
