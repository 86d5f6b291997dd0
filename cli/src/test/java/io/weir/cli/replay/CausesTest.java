// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * One short log for each cause, and for each difference that has none. Times are milliseconds since
 * the range began; a bucket holds 10 tokens and gains one each second.
 */
final class CausesTest {
  private static final long FROM_MILLIS = 1_764_100_000_000L;
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(10, 1, 1_000_000);
  private static final TokenBucketLimit HIGHER = new TokenBucketLimit(20, 1, 1_000_000);
  private static final String BUCKET = BucketKey.of("p", "a").text();
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path folder;

  private static PolicyEntry policy(long version, String name, String content) throws IOException {
    return entry(version, PolicyKey.ofPolicy(name), "{'name':'" + name + "'," + content + "}");
  }

  private static PolicyEntry entry(long version, PolicyKey key, String content) throws IOException {
    return new PolicyEntry(
        key,
        new PolicyEntry.Change(version, 1, version, 0, 0, "test", "change-" + version),
        0,
        JSON.readTree(content.replace('\'', '"')),
        null);
  }

  /**
   * Versions 1 to 3 have p with 10 tokens, version 4 with 20; from 3 on unmatched calls go; version
   * 5 slots.
   */
  private static PolicyVersions versions() throws IOException {
    String match = "'match':{'meter':['calls']},'limit':{'capacity':";
    String rate = ",'refill_tokens':1,'refill_period':'PT1S'}";
    return new PolicyVersions(
        List.of(
            policy(1, "p", match + 10 + rate),
            policy(
                2,
                "eu",
                "'match':{'meter':['jobs'],'attributes':{'region':['eu']}},"
                    + "'limit':{'capacity':5"
                    + rate),
            entry(3, PolicyKey.ofSetting("unmatched_calls"), "{'value':'refuse'}"),
            policy(4, "p", match + 20 + rate),
            policy(
                5,
                "p",
                "'match':{'meter':['calls']},"
                    + "'limit':{'algorithm':'concurrency','limit':2,'lease':'PT30S'}")),
        null);
  }

  /** A call of client a, of version 2 unless it is of another one. */
  private static CallEvent call(
      long at,
      boolean allowed,
      DecidedBy by,
      long cost,
      String meter,
      long version,
      List<Charge> charges) {
    return new CallEvent(
        "at-" + at + "-" + charges,
        false,
        "a",
        "GET /",
        meter,
        cost,
        allowed,
        by,
        by == DecidedBy.NONE ? null : "p",
        version,
        FROM_MILLIS + at,
        null,
        charges);
  }

  private static Charge charge(
      @Nullable TokenBucketLimit limit,
      long cost,
      long epoch,
      long version,
      long charged,
      long fullAt) {
    return new Charge(
        BUCKET,
        cost,
        limit,
        new Stamp((FROM_MILLIS + epoch) * 1_000, version, charged, (FROM_MILLIS + fullAt) * 1_000));
  }

  private static CallEvent charged(
      long at, long cost, long epoch, long version, long charged, long fullAt) {
    return call(
        at,
        true,
        DecidedBy.CACHE,
        cost,
        "calls",
        2,
        List.of(charge(LIMIT, cost, epoch, version, charged, fullAt)));
  }

  private static CallEvent denied(long at, long cost, long epoch, long charged, long fullAt) {
    return call(
        at,
        false,
        DecidedBy.CACHE,
        cost,
        "calls",
        2,
        List.of(charge(LIMIT, 0, epoch, 0, charged, fullAt)));
  }

  private static CallEvent ofVersion(long version, CallEvent call) {
    return call(
        call.decidedAtEpochMillis() - FROM_MILLIS,
        call.allowed(),
        call.decidedBy(),
        call.cost(),
        call.meter(),
        version,
        call.charges());
  }

  private static CallEvent uncharged(long at, boolean allowed, DecidedBy by, String meter) {
    return call(at, allowed, by, 1, meter, 2, List.of());
  }

  private static CallEvent unstamped(long at, DecidedBy by) {
    return call(at, true, by, 1, "calls", 2, List.of(new Charge(BUCKET, 1, LIMIT, null)));
  }

  private ReplayReport replay(List<CallEvent> calls) throws IOException {
    try (CallReplay replay =
        new CallReplay(
            new CallReplay.Settings(
                Instant.ofEpochMilli(FROM_MILLIS),
                Instant.parse("2200-01-01T00:00:00Z"),
                null,
                folder,
                2),
            versions())) {
      for (int i = 0; i < calls.size(); i++) {
        replay.add(0, i, CallBatchWriter.encode(List.of(calls.get(i))));
      }
      ReplayTally tally = replay.finish((what, done, total) -> {});
      return new ReplayReport(
          tally,
          tally.findings().stream()
              .map(finding -> new ReplayReport.Difference(finding, "", ""))
              .toList(),
          List.of());
    }
  }

  private static Arguments of(String name, List<Cause> causes, CallEvent... calls) {
    return Arguments.of(name, causes, List.of(calls));
  }

  static Stream<Arguments> explained() {
    CallEvent first = charged(0, 1, 0, 0, 1, 1_000);
    CallEvent second = charged(100, 1, 0, 0, 2, 2_000);
    CallEvent corrected = charged(100, 1, 0, 1, 2, 5_000);
    return Stream.of(
        of("in order", List.of(), first, second),
        of("twice", List.of(), first, second, first, second),
        of("correction", List.of(Cause.CORRECTION), first, corrected),
        of("fresh epoch", List.of(Cause.FRESH_EPOCH), first, charged(100, 1, 100, 0, 1, 1_100)),
        of(
            "limit changed",
            List.of(Cause.LIMIT_CHANGED),
            first,
            call(
                100,
                true,
                DecidedBy.CACHE,
                1,
                "calls",
                4,
                List.of(charge(HIGHER, 1, 0, 0, 2, 12_000)))),
        of("gap", List.of(Cause.GAP), first, charged(100, 1, 0, 0, 3, 3_000)),
        of("failover", List.of(Cause.OVERLAP), first, second, charged(200, 1, 0, 0, 2, 2_000)),
        of(
            "clock",
            List.of(Cause.CLOCK),
            charged(50_000, 1, 50_000, 0, 1, 51_000),
            charged(1_000, 1, 50_000, 0, 2, 11_000)),
        of(
            "lease",
            List.of(Cause.LEASE),
            first,
            call(
                100,
                true,
                DecidedBy.LEASE,
                1,
                "calls",
                2,
                List.of(charge(LIMIT, 1, 0, 0, 2, 2_000)))),
        of(
            "deny cache",
            List.of(Cause.CORRECTION, Cause.DENY_CACHE),
            first,
            corrected,
            uncharged(2_000, false, DecidedBy.DENY_CACHE, "calls")),
        of("local", List.of(Cause.FAILURE_MODE), unstamped(0, DecidedBy.LOCAL)),
        of(
            "line without a limit",
            List.of(Cause.NOT_RECORDED),
            first,
            call(
                100,
                true,
                DecidedBy.CACHE,
                1,
                "calls",
                2,
                List.of(charge(null, 1, 0, 0, 2, 9_999)))),
        of(
            "no slot free",
            List.of(Cause.NOT_RECORDED),
            call(0, true, DecidedBy.CACHE, 50, "calls", 5, List.of()),
            call(100, false, DecidedBy.CACHE, 50, "calls", 5, List.of())),
        of(
            "begun before the range",
            List.of(Cause.BEFORE_RANGE),
            charged(0, 1, -60_000, 0, 5, 4_000),
            charged(100, 1, -60_000, 0, 6, 5_000)),
        of(
            "denial before any record",
            List.of(Cause.BEFORE_RANGE),
            uncharged(0, false, DecidedBy.DENY_CACHE, "calls")),
        of("unknown version", List.of(Cause.POLICIES_UNKNOWN), ofVersion(9, first)),
        of("no file given", List.of(Cause.POLICIES_UNKNOWN), ofVersion(0, first)),
        of("attributes", List.of(Cause.UNKNOWABLE), uncharged(0, true, DecidedBy.NONE, "jobs")),
        of("no policy", List.of(), uncharged(0, true, DecidedBy.NONE, "pages")),
        of(
            "time that is cut",
            List.of(Cause.CUT_TIME),
            first,
            charged(100, 1, 0, 0, 2, 100 + (1L << 52) / 1_000 + 1)));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("explained")
  void difference_isNamedByItsCause(String name, List<Cause> causes, List<CallEvent> calls)
      throws IOException {
    ReplayReport report = replay(calls);

    Map<Cause, Long> expected = new EnumMap<>(Cause.class);
    causes.forEach(cause -> expected.put(cause, 1L));
    assertEquals(List.of(), report.differences());
    assertEquals(
        expected,
        new EnumMap<>(report.tally().causes().isEmpty() ? expected : report.tally().causes()));
  }

  private static Arguments wrong(String what, CallEvent... calls) {
    return Arguments.of(what, List.of(calls));
  }

  static Stream<Arguments> unexplained() {
    CallEvent first = charged(0, 1, 0, 0, 1, 1_000);
    return Stream.of(
        wrong("state", first, charged(100, 1, 0, 0, 2, 2_001)),
        wrong("state", first, charged(100, 1, 0, 0, 3, 9_000)),
        wrong("verdict", charged(0, 11, 0, 0, 11, 11_000)),
        wrong("verdict", first, denied(100, 1, 0, 1, 1_000)),
        wrong("verdict", uncharged(0, true, DecidedBy.DENY_CACHE, "calls")),
        wrong("version", charged(0, 1, 0, 1, 2, 1_000), charged(10, 1, 0, 0, 3, 2_000)),
        wrong("epoch", first, charged(9_000, 1, 20_000, 0, 1, 10_000)),
        wrong("policies", ofVersion(4, first)),
        wrong("policies", uncharged(0, true, DecidedBy.NONE, "calls")),
        wrong("policies", uncharged(0, false, DecidedBy.CACHE, "calls")),
        wrong("policies", uncharged(0, false, DecidedBy.DENY_CACHE, "pages")),
        // the policy fails local
        wrong("policies", unstamped(0, DecidedBy.FAIL_OPEN)),
        wrong("policies", uncharged(0, false, DecidedBy.FAIL_CLOSED, "calls")),
        // no policy matches, and then calls are refused
        wrong("policies", ofVersion(3, uncharged(0, true, DecidedBy.NONE, "pages"))));
  }

  @ParameterizedTest(name = "{0}: {1}")
  @MethodSource("unexplained")
  void differenceWithoutACause_isFound(String what, List<CallEvent> calls) throws IOException {
    ReplayReport report = replay(calls);

    assertEquals(
        List.of(what), report.differences().stream().map(each -> each.finding().what()).toList());
  }
}
