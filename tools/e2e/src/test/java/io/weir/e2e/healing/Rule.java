// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.limits.BucketKey;
import io.weir.limits.BucketLimit;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PolicyLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * A policy as both sides know it: the nodes as YAML, the oracle as arithmetic.
 *
 * @param name the policy's name
 * @param endpoint the endpoints it is for, a {@code *} at the end matches any
 * @param limit its limit
 * @param onCacheFailure open, closed or local
 * @param hold whether a cold cache is not used
 * @param debtCapTokens how far below zero a correction takes a token bucket
 */
record Rule(
    String name,
    String endpoint,
    PolicyLimit limit,
    String onCacheFailure,
    boolean hold,
    long debtCapTokens) {

  /** A bucket of a capacity that gains one token each interval; its debt cap is the capacity. */
  static Rule bucket(String name, String endpoint, long capacityTokens, Duration interval) {
    TokenBucketLimit limit = new TokenBucketLimit(capacityTokens, 1, interval.toNanos() / 1_000);
    return new Rule(name, endpoint, limit, "open", false, capacityTokens);
  }

  /** A quota of a calendar month, so that few runs meet its end. */
  static Rule quota(String name, String endpoint, long capacityTokens) {
    CalendarQuota limit =
        new CalendarQuota(
            capacityTokens, CalendarPeriod.MONTH, ZoneOffset.UTC, CalendarQuota.FIRST_OF_MONTH);
    return new Rule(name, endpoint, limit, "open", false, capacityTokens);
  }

  Rule onCacheFailure(String mode) {
    return new Rule(name, endpoint, limit, mode, hold, debtCapTokens);
  }

  Rule onColdCacheHold() {
    return new Rule(name, endpoint, limit, onCacheFailure, true, debtCapTokens);
  }

  Rule debtCap(long tokens) {
    return new Rule(name, endpoint, limit, onCacheFailure, hold, tokens);
  }

  boolean isFor(String called) {
    return endpoint.endsWith("*")
        ? called.startsWith(endpoint.substring(0, endpoint.length() - 1))
        : called.equals(endpoint);
  }

  /** The bucket of a client at a moment. */
  Place place(String client, long epochMillis) {
    String key = BucketKey.of(name, client).text();
    if (limit instanceof TokenBucketLimit bucket) {
      return new Place(this, key, bucket);
    }
    CalendarQuota quota = (CalendarQuota) limit;
    long end = quota.at(epochMillis, ClientCalendar.OF_POLICY).endEpochSecond();
    return new Place(
        this,
        BucketKey.parse(key).in(end).text(),
        new QuotaLimit(quota.capacityTokens(), Duration.ofSeconds(end).toMillis() * 1_000));
  }

  /** A bucket: its rule, its key in the cache and its limit. */
  record Place(Rule rule, String key, BucketLimit limit) {}

  static String yaml(List<Rule> rules) {
    return rules.stream().map(Rule::yaml).collect(Collectors.joining("", "policies:\n", ""));
  }

  private String yaml() {
    return String.format(
        Locale.ROOT,
        "  - {name: %s, match: {endpoint: [\"%s\"]}, limit: %s, on_cache_failure: %s%s%s}%n",
        name,
        endpoint,
        limitYaml(),
        onCacheFailure,
        hold ? ", on_cold_cache: hold" : "",
        debtCapTokens == limit.capacityTokens() ? "" : ", debt_cap: " + debtCapTokens);
  }

  private String limitYaml() {
    if (limit instanceof TokenBucketLimit bucket) {
      return String.format(
          Locale.ROOT,
          "{algorithm: token-bucket, capacity: %d, refill_tokens: 1, refill_period: %s}",
          bucket.capacityTokens(),
          Duration.ofNanos(bucket.refillPeriodMicros() * 1_000));
    }
    return String.format(
        Locale.ROOT,
        "{algorithm: quota, limit: %d, period: month, time_zone: UTC}",
        limit.capacityTokens());
  }
}
