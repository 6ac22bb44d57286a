//! What operators watch, in Prometheus' text format. Counts of this process since its start; sums over
//! processes are the scraper's business.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::time::Span;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Signal {
    signal: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Sent {
    channel: String,
    result: String,
}

/// The counters, gauges and histograms of one process.
pub struct Metrics {
    registry: Registry,
    accepted: Family<Signal, Counter>,
    refused: Family<Reason, Counter>,
    flips: Family<Reason, Counter>,
    deliveries: Family<Sent, Counter>,
    jobs_failed: Family<Reason, Counter>,
    deadline_to_sent: Histogram,
    group_size: Histogram,
    sweep_lateness: Gauge<f64, std::sync::atomic::AtomicU64>,
    oldest_undelivered: Gauge<f64, std::sync::atomic::AtomicU64>,
    queue_length: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("flatline"),
            accepted: Family::default(),
            refused: Family::default(),
            flips: Family::default(),
            deliveries: Family::default(),
            jobs_failed: Family::default(),
            deadline_to_sent: Histogram::new(exponential_buckets(0.25, 2.0, 16)),
            group_size: Histogram::new(exponential_buckets(1.0, 2.0, 10)),
            sweep_lateness: Gauge::default(),
            oldest_undelivered: Gauge::default(),
            queue_length: Gauge::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("pings_accepted", "Pings answered 200 or 201, by signal", self.accepted.clone());
        registry.register("pings_refused", "Pings not recorded, by reason", self.refused.clone());
        registry.register("flips", "Changes of status written, by reason", self.flips.clone());
        registry.register("deliveries", "Attempts settled, by channel and result", self.deliveries.clone());
        registry.register("jobs_failed", "Runs of a job that ended in an error", self.jobs_failed.clone());
        registry.register(
            "deadline_to_sent_seconds",
            "From the instant a flip is stamped with to its message sent",
            self.deadline_to_sent.clone(),
        );
        registry.register("group_size", "Pings committed together", self.group_size.clone());
        registry.register(
            "sweep_lateness_seconds",
            "How late the last sweep found the most overdue check",
            self.sweep_lateness.clone(),
        );
        registry.register(
            "oldest_undelivered_seconds",
            "For how long the oldest due delivery has waited",
            self.oldest_undelivered.clone(),
        );
        registry.register("queue_length", "Pings waiting to be recorded", self.queue_length.clone());
    }

    pub fn accepted(&self, signal: &'static str) {
        self.accepted.get_or_create(&Signal { signal }).inc();
    }

    pub fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }

    pub fn flipped(&self, reason: &'static str) {
        self.flips.get_or_create(&Reason { reason }).inc();
    }

    pub fn delivered(&self, channel: &str, result: &str) {
        let label = Sent { channel: channel.to_owned(), result: result.to_owned() };
        self.deliveries.get_or_create(&label).inc();
    }

    pub fn job_failed(&self, job: &'static str) {
        self.jobs_failed.get_or_create(&Reason { reason: job }).inc();
    }

    pub fn deadline_to_sent(&self, span: Span) {
        self.deadline_to_sent.observe(seconds(span));
    }

    pub fn group(&self, pings: usize) {
        self.group_size.observe(pings as f64);
    }

    pub fn sweep_lateness(&self, span: Span) {
        self.sweep_lateness.set(seconds(span));
    }

    pub fn oldest_undelivered(&self, span: Span) {
        self.oldest_undelivered.set(seconds(span));
    }

    pub fn queue_length(&self, pings: usize) {
        self.queue_length.set(i64::try_from(pings).unwrap_or(i64::MAX));
    }

    /// Everything in OpenMetrics' text format.
    pub fn text(&self) -> String {
        let mut out = String::new();
        prometheus_client::encoding::text::encode(&mut out, &self.registry)
            .expect("writing to a String does not fail");
        out
    }
}

fn seconds(span: Span) -> f64 {
    span.0.max(0) as f64 / 1000.0
}
