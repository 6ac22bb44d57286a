//! Whole numbers of any size in posted JSON. The reader of JSON takes one beyond 64 bits for a fraction, or not at all,
//! so that a field would not be called too large; and `-0` for a fraction too. Pure.

/// Digits that always fit into 64 bits.
const DIGITS: usize = 18;

/// The same JSON with each whole number that is too long as the largest that is not, and no negative zero.
pub fn bounded(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let (mut rest, mut in_text) = (json, false);
    while let Some((&byte, after)) = rest.split_first() {
        let length = match byte {
            b'\\' if in_text => 2.min(rest.len()),
            b'-' | b'0'..=b'9' if !in_text => number(rest),
            _ => 1,
        };
        in_text ^= byte == b'"';
        let (piece, left) = rest.split_at(length);
        match (length, piece) {
            (1, _) => out.push(byte),
            (_, b"-0") => out.push(b'0'),
            _ => push(piece, &mut out),
        }
        rest = if length == 1 { after } else { left };
    }
    out
}

/// The bytes of the number that a text begins with.
fn number(text: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    text.iter().take_while(|byte| is_part(byte)).count()
}

fn push(number: &[u8], out: &mut Vec<u8>) {
    let (sign, digits) = match number.strip_prefix(b"-") {
        Some(digits) => (&b"-"[..], digits),
        None => (&b""[..], number),
    };
    // A number that begins with a zero is none; the reader says so.
    if digits.len() > DIGITS && digits[0] != b'0' && digits.iter().all(u8::is_ascii_digit) {
        out.extend_from_slice(sign);
        out.extend(std::iter::repeat_n(b'9', DIGITS));
    } else {
        out.extend_from_slice(number);
    }
}

#[cfg(test)]
mod tests {
    use super::bounded;

    #[test]
    fn only_whole_numbers_that_are_too_long_are_changed() {
        let (long, nines) = ("1".repeat(400), "9".repeat(18));
        for (json, expected) in [
            (format!(r#"{{"a":{long},"b":[-{long}]}}"#), format!(r#"{{"a":{nines},"b":[-{nines}]}}"#)),
            (r#"{"a": -0, "b": -0.0}"#.to_owned(), r#"{"a": 0, "b": -0.0}"#.to_owned()),
        ] {
            assert_eq!(String::from_utf8(bounded(json.as_bytes())).unwrap(), expected);
        }
        for same in [
            format!(r#"{{"a":"{long}","b\"{long}":"\\","c":1e3,"d":{long}.5,"e":0{long}}}"#),
            r#"{"a":123456789012345678,"b":"\"#.to_owned(),
            String::new(),
        ] {
            assert_eq!(String::from_utf8(bounded(same.as_bytes())).unwrap(), same);
        }
    }
}
