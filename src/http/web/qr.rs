//! A QR code as one path, for a picture that stands in the page itself.

use qrcode::{Color, QrCode};

/// Empty modules on each side, which readers need.
const QUIET: usize = 4;

/// The picture: a square of `size` units whose dark modules are the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub size: usize,
    pub path: String,
}

impl Picture {
    /// Draws a text; `None` if it is too long for any code.
    pub fn of(text: &str) -> Option<Self> {
        let code = QrCode::new(text).ok()?;
        let width = code.width();
        let mut path = String::new();
        for (y, row) in code.to_colors().chunks(width).enumerate() {
            let mut x = 0;
            while x < width {
                let run = row[x..].iter().take_while(|color| **color == row[x]).count();
                if row[x] == Color::Dark {
                    path.push_str(&format!("M{} {}h{run}v1h-{run}z", x + QUIET, y + QUIET));
                }
                x += run;
            }
        }
        Some(Self { size: width + 2 * QUIET, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finder_patterns_stand_where_readers_look_for_them() {
        let picture = Picture::of("flatline").unwrap();
        assert_eq!(picture.size, 21 + 8);
        assert!(picture.path.starts_with("M4 4h7v1h-7z"), "{}", picture.path);
        assert!(picture.path.contains("M18 4h7v1h-7z") && picture.path.contains("M4 18h7v1h-7z"));
        assert!(picture.path.contains("M6 6h3v1h-3z"));
        assert_eq!(Picture::of(&"x".repeat(5000)), None);
    }
}
