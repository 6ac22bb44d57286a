use super::*;

fn check(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn checks(numbers: &[u128]) -> Changed {
    Changed::Checks(numbers.iter().map(|number| check(*number)).collect())
}

#[tokio::test]
async fn who_watches_a_project_hears_of_it_and_of_no_other() {
    let news = News::here();
    let mut watch = news.watch(1).await.unwrap();
    news.tell(vec![(2, None), (1, Some(check(7))), (1, Some(check(8)))]);
    assert_eq!(watch.next().await, Some(checks(&[7, 8])));
    news.tell(vec![(1, Some(check(9))), (1, None)]);
    assert_eq!(watch.next().await, Some(Changed::All));
}

#[tokio::test]
async fn what_many_say_before_it_is_passed_on_is_one_piece() {
    let news = News::here();
    let mut watch = news.watch(1).await.unwrap();
    // Nothing runs beside this test until it waits.
    for number in 0..40 {
        news.tell(vec![(1, Some(check(number % 4)))]);
    }
    assert_eq!(watch.next().await, Some(checks(&[0, 1, 2, 3])));
    news.close();
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn more_checks_than_can_be_named_are_all() {
    let mut changed = Changed::of(Some(check(0)));
    for number in 0..CHECKS as u128 {
        changed.add(Changed::of(Some(check(number))));
    }
    assert!(matches!(&changed, Changed::Checks(checks) if checks.len() == CHECKS));
    changed.add(Changed::of(Some(check(1_000))));
    assert_eq!(changed, Changed::All);
    changed.add(Changed::of(Some(check(1))));
    assert_eq!(changed, Changed::All);
}

#[tokio::test]
async fn a_watcher_that_does_not_listen_is_told_to_look_at_all() {
    let news = News::here();
    let mut watch = news.watch(1).await.unwrap();
    for _ in 0..=UNHEARD {
        news.hear(1, checks(&[1]));
    }
    assert_eq!(watch.next().await, Some(Changed::All));
}

#[tokio::test]
async fn nothing_is_kept_of_projects_that_nobody_watches() {
    let news = News::here();
    drop(news.watch(1).await.unwrap());
    assert!(!news.is_watched());
    news.tell(vec![(1, None)]);
    assert!(lock(&news.0.pending).changed.is_empty());
}

#[tokio::test]
async fn a_closed_place_ends_its_watches_and_takes_no_other() {
    let news = News::here();
    let mut watch = news.watch(1).await.unwrap();
    news.close();
    assert_eq!(watch.next().await, None);
    assert!(news.watch(1).await.is_err());
}
