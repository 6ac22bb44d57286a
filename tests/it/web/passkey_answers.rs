//! What the answer of an authenticator must be, step by step as WebAuthn has them.

use coset::cbor::value::Value;
use flatline::accounts::passkeys::{Assertion, Flaw, Known, Site, read_new};
use flatline::id;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::passkeys::{CREATE, GET, ORIGIN};
use crate::support::passkey::{PRESENT_AND_VERIFIED, Said, SoftPasskey, cbor, map};

#[test]
fn an_answer_is_taken_only_if_every_step_holds() {
    let site = Site::of(ORIGIN).expect("a site");
    let user = id::uuid();
    let passkey = SoftPasskey::new(user.as_bytes());
    let known = Known { uuid: id::uuid(), user_id: 7, user_uuid: user, public_key: passkey.public_key() };
    let right = Said { count: 5, ..Said::new(GET, "challenge", ORIGIN) };
    let judge = |said: &Said| {
        passkey.answer(said).judge(&site, &known).map(|proved| (proved.user_id, proved.sign_count))
    };
    assert_eq!(judge(&right), Ok((7, 5)));
    let extended = Said { flags: 0x85, tail: cbor(&map(&[("credProtect", 2.into())])), ..right.clone() };
    assert_eq!(judge(&extended), Ok((7, 5)), "extensions say nothing that was asked");

    let table: Vec<(Said, Flaw)> = vec![
        (Said { kind: CREATE, ..right.clone() }, Flaw::OtherCeremony),
        (Said { origin: "http://localhost:8000".into(), ..right.clone() }, Flaw::OtherOrigin),
        (Said { origin: "https://localhost".into(), ..right.clone() }, Flaw::OtherOrigin),
        (Said { origin: "http://localhost.evil.example".into(), ..right.clone() }, Flaw::OtherOrigin),
        (Said { origin: "http://localhost/".into(), ..right.clone() }, Flaw::OtherOrigin),
        (Said { more: json!({"crossOrigin": true}), ..right.clone() }, Flaw::InsideAnother),
        (Said { more: json!({"topOrigin": "http://evil.example"}), ..right.clone() }, Flaw::InsideAnother),
        (Said { more: json!({"challenge": 1}), ..right.clone() }, Flaw::Unreadable),
        (Said { site: "evil.example".into(), ..right.clone() }, Flaw::OtherSite),
        (Said { flags: 0x04, ..right.clone() }, Flaw::NobodyThere),
        (Said { flags: 0x01, ..right.clone() }, Flaw::Unverified),
        (Said { flags: 0x00, ..right.clone() }, Flaw::NobodyThere),
        (Said { flags: 0x15, ..right.clone() }, Flaw::Contradiction),
        (Said { tail: vec![0], ..right.clone() }, Flaw::Unreadable),
        (Said { flags: 0x85, ..right.clone() }, Flaw::Unreadable),
        (Said { flags: 0x85, tail: vec![0xa0, 0], ..right.clone() }, Flaw::Unreadable),
    ];
    for (said, flaw) in table {
        assert_eq!(judge(&said), Err(flaw), "{said:?}");
    }
    let answer = passkey.answer(&right);
    let change = |change: &dyn Fn(&mut Assertion)| {
        let mut changed = answer.clone();
        change(&mut changed);
        changed.judge(&site, &known).map(|proved| proved.user_id)
    };
    assert_eq!(change(&|_| ()), Ok(7));
    assert_eq!(change(&|one| *one.signature.last_mut().expect("bytes") ^= 1), Err(Flaw::Signature));
    assert_eq!(change(&|one| one.signature.clear()), Err(Flaw::Signature));
    assert_eq!(change(&|one| one.authenticator[36] ^= 1), Err(Flaw::Signature), "the count is signed");
    assert_eq!(change(&|one| one.client_data.push(b' ')), Err(Flaw::Signature), "every byte is signed");
    assert_eq!(change(&|one| one.authenticator.truncate(36)), Err(Flaw::Unreadable));
    assert_eq!(change(&|one| one.client_data = b"{}".to_vec()), Err(Flaw::Unreadable));
    assert_eq!(change(&|one| one.user_handle.clear()), Err(Flaw::OtherUser));
    assert_eq!(change(&|one| one.user_handle = id::uuid().as_bytes().to_vec()), Err(Flaw::OtherUser));
    let foreign = Known { public_key: SoftPasskey::new(user.as_bytes()).public_key(), ..known.clone() };
    assert_eq!(answer.judge(&site, &foreign).map(|one| one.user_id), Err(Flaw::Signature), "another key");
}

#[test]
fn no_changed_byte_is_taken_and_none_breaks_the_reader() {
    let site = Site::of(ORIGIN).expect("a site");
    let user = id::uuid();
    let passkey = SoftPasskey::new(user.as_bytes());
    let known = Known { uuid: id::uuid(), user_id: 7, user_uuid: user, public_key: passkey.public_key() };
    let answer = passkey.answer(&Said::new(GET, "challenge", ORIGIN));
    let parts: [fn(&mut Assertion) -> &mut Vec<u8>; 4] = [
        |one| &mut one.client_data,
        |one| &mut one.authenticator,
        |one| &mut one.signature,
        |one| &mut one.user_handle,
    ];
    for part in parts {
        for at in 0..part(&mut answer.clone()).len() {
            let (mut changed, mut cut) = (answer.clone(), answer.clone());
            part(&mut changed)[at] ^= 1;
            part(&mut cut).truncate(at);
            assert!(changed.judge(&site, &known).is_err() && cut.judge(&site, &known).is_err(), "byte {at}");
        }
    }
    let (client_data, object) = passkey.make(&Said::new(CREATE, "challenge", ORIGIN));
    for at in 0..object.len() {
        assert!(read_new(&site, &client_data, &object[..at]).is_err(), "byte {at}");
        for bit in 0..8 {
            let mut changed = object.clone();
            changed[at] ^= 1 << bit;
            // A changed id, or key, is another passkey's; what matters is that an answer comes.
            let _ = read_new(&site, &client_data, &changed);
        }
    }
}

#[test]
fn a_new_passkey_is_taken_only_if_every_step_holds() {
    let site = Site::of(ORIGIN).expect("a site");
    let passkey = SoftPasskey::new(b"user");
    let right = Said { count: 3, ..Said::new(CREATE, "challenge", ORIGIN) };
    let read = |said: &Said| {
        let (client_data, attestation) = passkey.make(said);
        read_new(&site, &client_data, &attestation)
    };
    let made = read(&right).expect("a credential");
    assert_eq!((&made.id, &made.public_key), (&passkey.credential, &passkey.public_key()));
    assert_eq!(made.sign_count, 3);
    assert!(read(&Said { flags: 0x1d, ..right.clone() }).is_ok(), "it may be on several devices");
    let table: Vec<(Said, Flaw)> = vec![
        (Said { kind: GET, ..right.clone() }, Flaw::OtherCeremony),
        (Said { origin: "http://evil.example".into(), ..right.clone() }, Flaw::OtherOrigin),
        (Said { more: json!({"crossOrigin": true}), ..right.clone() }, Flaw::InsideAnother),
        (Said { site: "evil.example".into(), ..right.clone() }, Flaw::OtherSite),
        (Said { flags: 0x04, ..right.clone() }, Flaw::NobodyThere),
        (Said { flags: 0x01, ..right.clone() }, Flaw::Unverified),
        (Said { flags: 0x15, ..right.clone() }, Flaw::Contradiction),
        (Said { tail: vec![0], ..right.clone() }, Flaw::Unreadable),
    ];
    for (said, flaw) in table {
        assert_eq!(read(&said).map(|made| made.id), Err(flaw), "{said:?}");
    }
}

#[test]
fn nobody_vouches_for_a_new_passkey_but_itself() {
    let site = Site::of(ORIGIN).expect("a site");
    let passkey = SoftPasskey::new(b"user");
    let (client_data, report) = passkey.made(&Said::new(CREATE, "challenge", ORIGIN));
    let signed = [report.as_slice(), &Sha256::digest(&client_data)].concat();
    let object = |format: &str, statement: Value, report: &[u8]| {
        cbor(&map(&[
            ("fmt", format.into()),
            ("attStmt", statement),
            ("authData", Value::Bytes(report.to_vec())),
        ]))
    };
    let by_itself = |algorithm: i64, signature: Vec<u8>| {
        map(&[("alg", algorithm.into()), ("sig", Value::Bytes(signature))])
    };
    let vouched = by_itself(-7, passkey.sign(&signed));
    let with_chain = map(&[
        ("alg", (-7).into()),
        ("sig", Value::Bytes(passkey.sign(&signed))),
        ("x5c", Value::Array(vec![])),
    ]);
    let mut without_credential = report.clone();
    without_credential[32] = PRESENT_AND_VERIFIED;
    let objects = [
        (object("packed", vouched.clone(), &report), None),
        (object("packed", by_itself(-7, passkey.sign(b"something else")), &report), Some(Flaw::Attestation)),
        (object("packed", by_itself(-8, passkey.sign(&signed)), &report), Some(Flaw::Attestation)),
        (object("packed", with_chain, &report), Some(Flaw::Attestation)),
        (object("none", vouched, &report), Some(Flaw::Attestation)),
        (object("tpm", map(&[]), &report), Some(Flaw::Attestation)),
        (object("none", Value::Null, &report), Some(Flaw::Attestation)),
        (object("none", map(&[]), &without_credential), Some(Flaw::Unreadable)),
        (object("none", map(&[]), &report[..report.len() - 1]), Some(Flaw::Unreadable)),
        (object("none", map(&[]), &report[..60]), Some(Flaw::Unreadable)),
        ([object("none", map(&[]), &report), vec![0]].concat(), Some(Flaw::Unreadable)),
        (cbor(&map(&[("fmt", "none".into())])), Some(Flaw::Unreadable)),
        (vec![0x9f; 10_000], Some(Flaw::Unreadable)),
        (vec![0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Some(Flaw::Unreadable)),
        (Vec::new(), Some(Flaw::Unreadable)),
    ];
    for (number, (object, flaw)) in objects.into_iter().enumerate() {
        assert_eq!(read_new(&site, &client_data, &object).err(), flaw, "object {number}");
    }
}
