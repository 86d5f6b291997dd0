// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ClientCalendar;
import io.weir.limits.FixedWindow;
import io.weir.limits.PolicyLimit;
import io.weir.limits.TokenBucketLimit;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class PolicyAdviceTest {
  private static final TokenBucketLimit TEN = new TokenBucketLimit(10, 10, 60_000_000);
  private static final TokenBucketLimit HUNDRED = new TokenBucketLimit(100, 100, 60_000_000);

  private static Policy policy(String name, PolicyMatch match, PolicyLimit limit) {
    return policy(name, match, limit, PolicyMode.ENFORCE);
  }

  private static Policy policy(String name, PolicyMatch match, PolicyLimit limit, PolicyMode mode) {
    return new Policy(name, match, List.of(KeyPart.CLIENT), limit, mode, CacheFailureMode.LOCAL);
  }

  private static PolicyMatch endpoints(String... patterns) {
    return new PolicyMatch(List.of(), List.of(patterns), List.of());
  }

  private static PolicyMatch meters(String... patterns) {
    return new PolicyMatch(List.of(), List.of(), List.of(patterns));
  }

  private static List<String> advice(Policy... policies) {
    return PolicyAdvice.of(new PolicySet(1, List.of(policies))).stream()
        .map(advice -> advice.subject().replace("'", "") + " " + advice.text().split("[,;:]", 2)[0])
        .toList();
  }

  @Test
  void ordinaryPolicies_getNoAdvice() {
    assertEquals(
        List.of(),
        advice(
            policy("burst", endpoints("GET /v1/*"), HUNDRED),
            policy("item", endpoints("GET /v1/items/{id}"), TEN),
            policy("writes", endpoints("POST *", "PUT *"), TEN)));
  }

  /**
   * Regression: an endpoint pattern without a method matched no call, so the calls were not
   * limited.
   */
  @Test
  void endpointWithoutAMethod_isNamed() {
    assertEquals(
        List.of("items match.endpoint /v1/items has no method"),
        advice(policy("items", endpoints("/v1/items", "* /v2/items", "-"), TEN)).stream()
            .map(text -> text.replace("'", ""))
            .toList());
  }

  @Test
  void policiesWithoutAMeter_areNamedTogether() {
    PolicySet set =
        new PolicySet(
            1,
            List.of(
                policy("a", endpoints("GET /1"), TEN),
                policy("calls", meters("calls"), TEN),
                policy("any", meters("*"), TEN),
                policy("b", endpoints("GET /2"), TEN)));
    List<PolicyAdvice.Advice> advice = PolicyAdvice.onMissingMeters(set);

    assertEquals(1, advice.size());
    assertEquals("'a' and 'b'", advice.get(0).subject());
    assertEquals(
        List.of(), PolicyAdvice.onMissingMeters(new PolicySet(1, List.of(set.policies().get(1)))));
  }

  private static List<PolicyAdvice.Advice> onCalendars(List<String> clients, Policy... policies) {
    Map<String, ClientCalendar> calendars = new HashMap<>();
    clients.forEach(client -> calendars.put(client, new ClientCalendar(ZoneOffset.UTC, null)));
    return PolicyAdvice.of(new PolicySet(1, List.of(policies), Clients.ofCalendars(calendars)));
  }

  private static PolicyMatch clients(String... patterns) {
    return new PolicyMatch(List.of(patterns), List.of(), List.of());
  }

  @Test
  void calendarOfAClient_usedByNoQuotaNorForItsBills_isNamed() {
    CalendarQuota daily =
        new CalendarQuota(5, CalendarPeriod.DAY, ZoneOffset.UTC, CalendarQuota.FIRST_OF_MONTH);
    FixedWindow minute = new FixedWindow(5, 60, FixedWindow.Alignment.EPOCH, ZoneOffset.UTC);
    Policy ofCorps = policy("corps", clients("corp-*"), daily);

    assertEquals(
        List.of(
            new PolicyAdvice.Advice(
                "crop-2",
                "has a calendar in 'clients' without effect: no quota or calendar window applies,"
                    + " and bills use UTC months")),
        onCalendars(List.of("corp-1", "crop-2"), ofCorps));
    assertEquals(
        List.of("a, b, c and 2 more have calendars in 'clients'"),
        onCalendars(List.of("e", "d", "c", "b", "a"), policy("every", PolicyMatch.ANY, minute))
            .stream()
            .map(one -> one.subject() + " " + one.text().split(" without", 2)[0])
            .toList());
    assertEquals(List.of(), onCalendars(List.of("any"), policy("all", PolicyMatch.ANY, daily)));
  }

  @Test
  void calendarOfAClient_usedForItsBillsOnly_isNotNamed() {
    FixedWindow minute = new FixedWindow(5, 60, FixedWindow.Alignment.EPOCH, ZoneOffset.UTC);
    Map<String, ClientCalendar> calendars =
        Map.of(
            "in Nepal", new ClientCalendar(ZoneId.of("Asia/Kathmandu"), null),
            "from the 15th", new ClientCalendar(null, LocalDate.of(2026, 1, 15)));

    assertEquals(
        List.of(),
        PolicyAdvice.of(
            new PolicySet(
                1,
                List.of(policy("every", PolicyMatch.ANY, minute)),
                Clients.ofCalendars(calendars))));
  }

  @Test
  void nameList_ofMany_isTheFirstThree_andHowManyMore() {
    assertEquals("a", NameList.of(List.of("a"), "or"));
    assertEquals("a, b, c or d", NameList.of(List.of("a", "b", "c", "d"), "or"));
    assertEquals("a, b, c and 2 more", NameList.of(List.of("a", "b", "c", "d", "e"), "or"));
  }

  @Test
  void regularExpressions_areNamed() {
    assertEquals(
        List.of(
            "a match.endpoint '^GET /v1/.*' looks like a regular expression",
            "b match.endpoint '(GET|POST) /v1' looks like a regular expression"),
        advice(
            policy("a", endpoints("^GET /v1/.*"), TEN),
            policy("b", endpoints("(GET|POST) /v1"), TEN)));
  }

  @Test
  void policyThatNeverDecides_isNamed() {
    assertEquals(
        List.of("wide has no effect"),
        advice(policy("wide", endpoints("GET /v1/*"), HUNDRED), policy("tight", endpoints(), TEN)));
    assertEquals(
        List.of("second has no effect"),
        advice(policy("first", endpoints(), TEN), policy("second", endpoints(), TEN)));
    assertEquals(
        List.of("limited has no effect"),
        advice(
            policy("limited", endpoints("GET /admin/x"), TEN),
            policy("blocked", endpoints("GET /admin/*"), TokenBucketLimit.DENY)));
  }

  @Test
  void policyThatSometimesDecides_isNotNamed() {
    TokenBucketLimit smallButFast = new TokenBucketLimit(10, 1_000, 60_000_000);
    Policy shadow = policy("tight", endpoints(), TEN, PolicyMode.SHADOW);
    Policy off = policy("tight", endpoints(), TEN, PolicyMode.OFF);

    assertEquals(
        List.of(),
        advice(policy("slow", endpoints(), HUNDRED), policy("fast", endpoints(), smallButFast)));
    assertEquals(List.of(), advice(policy("wide", endpoints(), HUNDRED), shadow));
    assertEquals(List.of(), advice(policy("wide", endpoints(), HUNDRED), off));
    assertEquals(
        List.of(),
        advice(policy("all", endpoints(), HUNDRED), policy("some", endpoints("GET *"), TEN)));
  }

  /** Only the most specific of these policies applies to a descriptor. */
  @Test
  void policyForDescriptorsThatIsMoreSpecific_isNotNamed() {
    PolicyMatch path = descriptors(Map.of("path", List.of("/slow")));

    assertEquals(
        List.of(),
        advice(policy("wide", path, HUNDRED), policy("tight", descriptors(Map.of()), TEN)));
    assertEquals(
        List.of("wide has no effect"),
        advice(policy("wide", path, HUNDRED), policy("tight", path, TEN)));
    assertEquals(
        List.of("wide has no effect"),
        advice(policy("wide", path, HUNDRED), policy("tight", endpoints(), TEN)));
  }

  private static PolicyMatch descriptors(Map<String, List<String>> attributes) {
    Map<String, List<String>> all = new HashMap<>(attributes);
    all.put(PolicyMatch.DESCRIPTOR_DOMAIN, List.of("shop"));
    return new PolicyMatch(List.of(), List.of(), List.of(), List.of(), all);
  }

  /**
   * Both policies have an effect, because only the wide policy decides while Redis is unavailable.
   */
  @Test
  void policyThatDecidesOnlyWithoutRedis_isNotNamed() {
    Policy open =
        new Policy(
            "tight",
            endpoints(),
            List.of(KeyPart.CLIENT),
            TEN,
            PolicyMode.ENFORCE,
            CacheFailureMode.OPEN);

    assertEquals(List.of(), advice(policy("wide", endpoints(), HUNDRED), open));
  }

  @Test
  void bucketThatMetersShareOnNoEndpoint_isNotNamed() {
    PolicyMatch uploads = new PolicyMatch(List.of(), List.of("POST /files"), List.of("bytes"));

    assertEquals(
        List.of(),
        advice(policy("reads", endpoints("GET /*"), HUNDRED), policy("bytes", uploads, TEN)));
    assertEquals(
        List.of("all applies to every meter"),
        advice(
            policy("all", endpoints("GET /*", "POST *"), HUNDRED), policy("bytes", uploads, TEN)));
  }

  @Test
  void bucketSharedByAllMeters_isNamed() {
    assertEquals(
        List.of("all applies to every meter"),
        advice(policy("all", endpoints(), HUNDRED), policy("bytes", meters("bytes"), TEN)));
    assertEquals(
        List.of("all applies to every meter"),
        advice(policy("all", meters("*"), HUNDRED), policy("bytes", meters("bytes"), TEN)));
    assertEquals(
        List.of(),
        advice(policy("calls", meters("calls"), TEN), policy("bytes", meters("bytes"), HUNDRED)));
  }
}
