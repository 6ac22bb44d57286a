//! The public key of a passkey: COSE as the authenticator wrote it (RFC 9052), and signatures by it.
//!
//! Pure. The kinds of key are those that are asked for, and a key of any other kind is none.

use coset::cbor::value::Value;
use coset::iana::{self, EnumI64};
use coset::{Algorithm, CborSerializable, CoseKey, KeyType, Label};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};

/// What is asked for, the best first, by the numbers of COSE: ES256, EdDSA, RS256.
pub const ALGORITHMS: [i64; 3] = [-7, -8, -257];
/// Bytes of a coordinate, and of a key on Curve25519.
const POINT_BYTES: usize = 32;
/// What a point of two coordinates begins with.
const UNCOMPRESSED: u8 = 4;

/// A public key that signatures can be held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// A point on P-256: ECDSA with SHA-256.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
    /// Modulus and exponent: RSASSA-PKCS1-v1_5 with SHA-256.
    Rsa(Vec<u8>, Vec<u8>),
}

impl PublicKey {
    /// Reads a COSE key; `None` if it is not of a kind that is asked for.
    pub fn read(cose: &[u8]) -> Option<Self> {
        let key = CoseKey::from_slice(cose).ok()?;
        let (Some(Algorithm::Assigned(algorithm)), KeyType::Assigned(kind)) = (&key.alg, &key.kty) else {
            return None;
        };
        match (kind, algorithm) {
            (iana::KeyType::EC2, iana::Algorithm::ES256) => {
                let is_p256 =
                    number(&key, iana::Ec2KeyParameter::Crv) == Some(iana::EllipticCurve::P_256.to_i64());
                let x = bytes(&key, iana::Ec2KeyParameter::X).filter(|x| x.len() == POINT_BYTES)?;
                let y = bytes(&key, iana::Ec2KeyParameter::Y).filter(|y| y.len() == POINT_BYTES)?;
                is_p256.then(|| Self::P256([&[UNCOMPRESSED], x, y].concat()))
            }
            (iana::KeyType::OKP, iana::Algorithm::EdDSA) => {
                let is_25519 =
                    number(&key, iana::OkpKeyParameter::Crv) == Some(iana::EllipticCurve::Ed25519.to_i64());
                let x = bytes(&key, iana::OkpKeyParameter::X).filter(|x| x.len() == POINT_BYTES)?;
                is_25519.then(|| Self::Ed25519(x.to_vec()))
            }
            (iana::KeyType::RSA, iana::Algorithm::RS256) => Some(Self::Rsa(
                bytes(&key, iana::RsaKeyParameter::N)?.to_vec(),
                bytes(&key, iana::RsaKeyParameter::E)?.to_vec(),
            )),
            _ => None,
        }
    }

    /// The number of its algorithm: one of [`ALGORITHMS`].
    pub fn algorithm(&self) -> i64 {
        let [es256, ed_dsa, rs256] = ALGORITHMS;
        match self {
            Self::P256(_) => es256,
            Self::Ed25519(_) => ed_dsa,
            Self::Rsa(..) => rs256,
        }
    }

    /// Whether the signature of the message is by this key.
    pub fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::P256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_ASN1, point).verify(message, signature)
            }
            Self::Ed25519(point) => {
                UnparsedPublicKey::new(&signature::ED25519, point).verify(message, signature)
            }
            Self::Rsa(n, e) => RsaPublicKeyComponents { n, e }.verify(
                &signature::RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
        };
        verified.is_ok()
    }
}

fn parameter(key: &CoseKey, label: impl EnumI64) -> Option<&Value> {
    let label = Label::Int(label.to_i64());
    key.params.iter().find(|(one, _)| *one == label).map(|(_, value)| value)
}

fn bytes(key: &CoseKey, label: impl EnumI64) -> Option<&[u8]> {
    parameter(key, label)?.as_bytes().map(Vec::as_slice)
}

fn number(key: &CoseKey, label: impl EnumI64) -> Option<i64> {
    parameter(key, label)?.as_integer().and_then(|number| i64::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::rand::SystemRandom;
    use ring::signature::{Ed25519KeyPair, KeyPair};

    fn map(pairs: Vec<(i64, Value)>) -> Vec<u8> {
        let pairs = pairs.into_iter().map(|(label, value)| (Value::from(label), value)).collect();
        let mut bytes = Vec::new();
        coset::cbor::ser::into_writer(&Value::Map(pairs), &mut bytes).unwrap();
        bytes
    }

    fn ed25519(algorithm: i64, curve: i64, x: &[u8]) -> Vec<u8> {
        map(vec![(1, 1.into()), (3, algorithm.into()), (-1, curve.into()), (-2, Value::Bytes(x.to_vec()))])
    }

    #[test]
    fn a_key_knows_its_own_signatures() {
        let pair = Ed25519KeyPair::from_pkcs8(
            Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap().as_ref(),
        )
        .unwrap();
        let key = PublicKey::read(&ed25519(-8, 6, pair.public_key().as_ref())).unwrap();
        assert_eq!(key.algorithm(), -8);
        let signature = pair.sign(b"message");
        assert!(key.has_signed(b"message", signature.as_ref()));
        assert!(!key.has_signed(b"massage", signature.as_ref()));
        assert!(!key.has_signed(b"message", &signature.as_ref()[1..]));
        assert!(!key.has_signed(b"message", b""));
    }

    /// The example of RFC 7515, A.2: RSASSA-PKCS1-v1_5 with SHA-256.
    #[test]
    fn rsa_signatures_are_those_of_the_rfc() {
        use base64::Engine;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD;
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let n = decode(
            "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT\
             -SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQO\
             S-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q\
             2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
        );
        let message = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvb\
                       S9pc19yb290Ijp0cnVlfQ";
        let signature = decode(
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9u\
             JdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eS\
             N9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AX\
             LIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        );
        let cose = map(vec![
            (1, 3.into()),
            (3, (-257).into()),
            (-1, Value::Bytes(n)),
            (-2, Value::Bytes(vec![1, 0, 1])),
        ]);
        let key = PublicKey::read(&cose).unwrap();
        assert_eq!(key.algorithm(), -257);
        assert!(key.has_signed(message.as_bytes(), &signature));
        assert!(!key.has_signed(&message.as_bytes()[1..], &signature));
    }

    #[test]
    fn other_kinds_of_key_and_halves_of_one_are_none() {
        let ec2 = |algorithm: i64, curve: i64, x: usize, y: usize| {
            map(vec![
                (1, 2.into()),
                (3, algorithm.into()),
                (-1, curve.into()),
                (-2, Value::Bytes(vec![1; x])),
                (-3, Value::Bytes(vec![1; y])),
            ])
        };
        assert!(PublicKey::read(&ec2(-7, 1, 32, 32)).is_some());
        for cose in [
            ec2(-7, 2, 32, 32),
            ec2(-35, 2, 48, 48),
            ec2(-8, 1, 32, 32),
            ec2(-7, 1, 31, 32),
            ec2(-7, 1, 32, 33),
            ed25519(-8, 4, &[1; 32]),
            ed25519(-7, 6, &[1; 32]),
            ed25519(-8, 6, &[1; 31]),
            map(vec![(1, 3.into()), (3, (-257).into()), (-1, Value::Bytes(vec![1; 256]))]),
            map(vec![(1, 2.into())]),
            [ed25519(-8, 6, &[1; 32]), vec![0]].concat(),
            Vec::new(),
        ] {
            assert_eq!(PublicKey::read(&cose), None, "{cose:?}");
        }
    }
}
