// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import static io.weir.ingest.policy.PolicyYaml.assertHolds;
import static io.weir.ingest.policy.PolicyYaml.invalid;
import static io.weir.ingest.policy.PolicyYaml.valid;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.weir.limits.ClientCalendar;
import io.weir.limits.IpNetwork;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.Clients;
import io.weir.limits.policy.IpPrefix;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.limits.policy.UnknownClients;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

final class PolicyFileTest {
  private static final String LIMIT =
      "limit: {algorithm: token-bucket, capacity: 100, refill_tokens: 100, refill_period: PT1M}";

  @Test
  void parse_replaces_areNamesOfOtherPolicies() {
    PolicySet set =
        valid(
            """
            policies:
              - {name: a, LIMIT, replaces: [b, c]}
              - {name: b, LIMIT, replaces: [a]}
              - {name: c, LIMIT, replaces: []}
            """
                .replace("LIMIT", LIMIT));
    assertEquals(
        List.of(List.of("b", "c"), List.of("a"), List.of()),
        set.policies().stream().map(Policy::replaces).toList());

    List<String> problems =
        invalid(
            """
            policies:
              - {name: a, LIMIT, replaces: [a]}
              - {name: b, LIMIT, replaces: [c, c]}
              - {name: c, LIMIT, replaces: b}
              - {name: d, LIMIT, replaces: [1]}
            """
                .replace("LIMIT", LIMIT));
    assertHolds(problems, "policies[0].replaces must not name the policy itself");
    assertHolds(problems, "policies[1].replaces[1] is named twice");
    assertHolds(problems, "policies[2].replaces must be a list of policy names");
    assertHolds(problems, "policies[3].replaces[0] must be a string");
    assertHolds(
        invalid("policies: [{name: a, LIMIT, replaces: [none]}]".replace("LIMIT", LIMIT)),
        "policy 'a'.replaces names 'none', which is not a policy");
  }

  @Test
  void parse_plansClientsAndTheirLimits() {
    PolicySet set =
        valid(
            """
            policies:
              - {name: burst, limit: {capacity: 5, refill_tokens: 5, refill_period: PT1S}}
              - {name: free, limit: {capacity: 1, refill_tokens: 1, refill_period: PT1S}}
            plans:
              free: {policies: [free]}
              pro: {policies: []}
            default_plan: free
            unknown_clients: refuse
            clients:
              acme:
                plan: pro
                limits: {burst: {capacity: 50, refill_tokens: 5, refill_period: PT1S}}
              zoo: {}
            """);

    Clients clients = set.clients();
    assertEquals(Map.of("free", Set.of("free"), "pro", Set.of()), clients.plans());
    assertEquals("free", clients.defaultPlan());
    assertEquals(UnknownClients.REFUSE, clients.unknown());
    assertEquals(ClientSettings.NONE, clients.settings().get("zoo"));
    assertEquals(
        new ClientSettings(
            ClientCalendar.OF_POLICY,
            "pro",
            Map.of("burst", new TokenBucketLimit(50, 5, 1_000_000))),
        clients.settings().get("acme"));
  }

  @Test
  void parse_whatPlansAndClientsNameIsMissing_isNamed() {
    List<String> problems =
        invalid(
            """
            policies:
              - {name: day, limit: {algorithm: quota, limit: 5, period: day}, on_cold_cache: hold}
            plans: {free: {policies: [none]}}
            default_plan: gold
            clients:
              acme: {plan: silver}
              zoo: {limits: {week: {algorithm: deny}}}
              ark: {limits: {day: {capacity: 5, refill_tokens: 5, refill_period: PT1S}}}
            """);

    assertHolds(problems, "plans['free'].policies names 'none', which is not a policy");
    assertHolds(problems, "default_plan is 'gold', which is not a plan");
    assertHolds(problems, "clients['acme'].plan is 'silver', which is not a plan");
    assertHolds(problems, "clients['zoo'].limits['week'] must name a policy");
    assertHolds(problems, "clients['ark'].limits['day'] does not fit the policy");
  }

  @Test
  void parse_everyField_isRead() {
    PolicySet set =
        valid(
            """
            version: 7
            policies:
              - name: burst
                match: {client: ["*"], endpoint: ["GET /v1/*"], meter: [calls]}
                key: [client, endpoint]
                limit: {algorithm: token-bucket, capacity: 20, refill_tokens: 100, refill_period: PT1M}
                mode: shadow
                on_cache_failure: closed
            """);

    assertEquals(7, set.version());
    assertEquals(
        new Policy(
            "burst",
            new PolicyMatch(List.of("*"), List.of("GET /v1/*"), List.of("calls")),
            List.of(KeyPart.CLIENT, KeyPart.ENDPOINT),
            new TokenBucketLimit(20, 100, 60_000_000),
            PolicyMode.SHADOW,
            CacheFailureMode.CLOSED),
        set.policies().get(0));
  }

  @Test
  void parse_requiredFieldsOnly_takesTheDefaults() {
    Policy policy = valid("policies:\n  - name: a\n    " + LIMIT).policies().get(0);

    assertEquals(PolicyMatch.ANY, policy.match());
    assertEquals(List.of(KeyPart.CLIENT), policy.key());
    assertEquals(PolicyMode.ENFORCE, policy.mode());
    assertEquals(CacheFailureMode.LOCAL, policy.onCacheFailure());
  }

  @Test
  void parse_modeOffOrFalse_isOff() {
    for (String off : new String[] {"off", "false"}) {
      Policy policy =
          valid("policies:\n  - name: a\n    mode: " + off + "\n    " + LIMIT).policies().get(0);

      assertEquals(PolicyMode.OFF, policy.mode());
    }
  }

  @Test
  void parse_anchorsAndMergeKeys_areResolved_andExtensionKeysIgnored() {
    PolicySet set =
        valid(
            """
            x-limits:
              free: &free {capacity: 10, refill_tokens: 10, refill_period: PT1M}
              pro: &pro
                <<: *free
                capacity: 1000
            policies:
              - name: free
                x-owner: growth
                limit: *free
              - name: pro
                limit: *pro
            """);

    assertEquals(
        List.of(
            new TokenBucketLimit(10, 10, 60_000_000), new TokenBucketLimit(1_000, 10, 60_000_000)),
        set.policies().stream().map(Policy::limit).toList());
  }

  @Test
  void parse_deny_isACapacityOfZero_andForbidsOtherFields() {
    Policy policy = valid("policies:\n  - name: a\n    limit: {algorithm: deny}").policies().get(0);

    assertEquals(TokenBucketLimit.DENY, policy.limit());
    assertEquals(0, policy.limit().capacityTokens());
    assertEquals(
        List.of(
            "policies[0].limit.capacity is not known here; the known fields are algorithm",
            "policies[0].on_cache_failure must be omitted with algorithm deny, which does not need"
                + " Redis"),
        invalid(
            "policies:\n  - name: a\n    on_cache_failure: open\n    limit: {algorithm: deny,"
                + " capacity: 1}"));
  }

  @Test
  void parse_textThatIsNoYaml_isRefusedInOneLine_withItsPlace() {
    assertEquals(
        List.of(
            "line 2, column 1: found character '\\t(TAB)' that cannot start any token. (Do not use \\t(TAB) for indentation)"),
        invalid("policies:\n\t- name: a"));
    assertEquals(
        List.of("line 3, column 1: found duplicate key policies"),
        invalid("policies:\n  []\npolicies: []"));
    assertEquals(
        List.of("line 1, column 20: found undefined alias nobody"),
        invalid("policies: [{limit: *nobody}]"));
  }

  @Test
  void parse_keysThatLookLikeNumbers_areTheTextThatStandsThere() {
    PolicySet set =
        valid(
            """
            policies: []
            clients:
              1.10: {time_zone: Europe/Paris}
              007: {time_zone: Europe/Paris}
              true: {time_zone: Europe/Paris}
              1e3: {time_zone: Europe/Paris}
            """);

    assertEquals(Set.of("1.10", "007", "true", "1e3"), set.clients().settings().keySet());
  }

  @Test
  void parse_listOfMergedMappings_theFirstThatHasAKeyGivesIt() {
    Policy policy =
        valid(
                """
                x-a: &a {capacity: 7, refill_tokens: 1}
                x-b: &b {capacity: 8, refill_period: PT1S}
                policies:
                  - name: a
                    limit: {<<: [*a, *b]}
                """)
            .policies()
            .get(0);

    assertEquals(new TokenBucketLimit(7, 1, 1_000_000), policy.limit());
  }

  /** Each of these once ended the process with a stack trace, or took its memory. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "? | line 1, column 2: a key is missing before the colon",
        "{~: 1}| line 1, column 2: the key ~ is not a string; put it in quotation marks",
        "{[a]: 1}| line 1, column 2: a key must be a string, not a mapping or a list",
        "x: &x [*x]| line 1, column 4: an alias is inside the node that it refers to",
        "x: &x {y: *x}| line 1, column 4: an alias is inside the node that it refers to",
        "x: &x {<<: *x}| line 1, column 4: an alias is inside the node that it refers to",
        "{<<: 1}| line 1, column 6: the value of << must be a mapping or a list of mappings",
        "{<<: [{}, 1]}| line 1, column 6: the value of << must be a mapping or a list of mappings",
        "x: !!int 1.5| line 1, column 4: the type tag:yaml.org,2002:int is not allowed in this"
            + " file, or does not match its value",
        "x: !!set {a}| line 1, column 4: the type tag:yaml.org,2002:set is not allowed in this file",
        "x: !java.net.URL [a]| line 1, column 4: the type !java.net.URL is not allowed in this file",
        "[policies]| the file must contain a mapping with a list 'policies'",
        "policies| the file must contain a mapping with a list 'policies'"
      })
  void parse_treeThatCannotBe_isRefusedInOneLine_withItsPlace(String yaml, String problem) {
    assertEquals(List.of(problem), invalid(yaml));
  }

  @Test
  void parse_aliasesOfAliases_areRefused_beforeTheyTakeMemory() {
    StringBuilder laughs = new StringBuilder("x0: &x0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]\n");
    for (int i = 1; i < 30; i++) {
      String last = "*x" + (i - 1);
      laughs.append("x%d: &x%d [%s, %s, %s]\n".formatted(i, i, last, last, last));
    }

    assertEquals(
        List.of("line 13, column 12: aliases repeat more than 5000000 values"),
        invalid(laughs.append("policies: []").toString()));
  }

  @Test
  void parse_scalars_areOfTheCoreSchema() {
    assertEquals(
        List.of(
            "policies[0].limit.capacity must be an integer from 1 to 9007199254740991,"
                + " but is '010'"),
        invalid(
            "policies:\n  - name: a\n    limit: {capacity: 010, refill_tokens: 1, refill_period:"
                + " PT1S}"));
  }

  @Test
  void parse_whatIsWrongInALeakyBucket_isNamed() {
    List<String> problems =
        invalid(
            """
            policies:
              - name: a
                limit: {algorithm: leaky-bucket, capacity: 0, refill_tokens: 10, leak_period: 1s}
              - name: b
                limit: {algorithm: leaky-bucket, capacity: 5, leak_tokens: 1, leak_period: PT1S, queue: yes}
              - name: c
                limit: {algorithm: leaky-bucket, capacity: 20, leak_tokens: 1, leak_period: PT1S, queue: true}
                lease: {tokens: 2}
            """);

    assertHolds(problems, "policies[0].limit.refill_tokens is not known here");
    assertHolds(problems, "policies[0].limit.capacity must be an integer from 1");
    assertHolds(problems, "policies[0].limit.leak_tokens is missing");
    assertHolds(problems, "policies[0].limit.leak_period must be an ISO 8601 duration");
    assertHolds(problems, "policies[1].limit.queue must be true or false, but is 'yes'");
    assertHolds(problems, "policies[2].lease must not be set for a queue");
  }

  @Test
  void parse_layers_haveTheirKeysAndConditions() {
    PolicySet set =
        valid(
            """
            policies:
              - name: network
                key: [ip, endpoint]
                ip_prefix: {ipv4: 24}
                match:
                  ip: [203.0.113.0/24, "2001:db8::/32", "::ffff:10.0.0.1"]
                  attributes: {region: ["eu-*", us], beta: ["true"]}
                limit: {capacity: 5, refill_tokens: 1, refill_period: PT1M}
              - name: all
                key: []
                limit: {capacity: 5, refill_tokens: 1, refill_period: PT1M}
            """);

    Policy network = set.policies().get(0);
    assertEquals(List.of(KeyPart.IP, KeyPart.ENDPOINT), network.key());
    assertEquals(new IpPrefix(24, 64), network.ipPrefix());
    assertEquals(
        List.of("203.0.113.0/24", "2001:db8::/32", "10.0.0.1/32"),
        network.match().ip().stream().map(IpNetwork::toString).toList());
    assertEquals(
        Map.of("region", List.of("eu-*", "us"), "beta", List.of("true")),
        network.match().attributes());
    assertEquals(List.of(), set.policies().get(1).key());
  }

  @Test
  void parse_whatIsWrongInLayers_isNamed() {
    List<String> problems =
        invalid(
            """
            policies:
              - name: a
                key: [ip]
                ip_prefix: {ipv4: 33, ipv6: 0, v4: 1}
                match: {ip: [203.0.113.9/24, localhost, 7], attributes: {region: []}}
                limit: {algorithm: quota, limit: 5, period: day}
                on_cold_cache: hold
              - name: b
                key: [client, plan]
                ip_prefix: {ipv4: 24}
                match: {ip: [], attributes: {}}
                limit: {capacity: 5, refill_tokens: 1, refill_period: PT1M}
              - name: c
                key: []
                debt_cap: 5
                lease: {tokens: 2}
                limit: {capacity: 5, refill_tokens: 1, refill_period: PT1M}
            """);

    String records = " requires the key [client] or [client, endpoint]; other buckets";
    for (String expected :
        List.of(
            "policies[0].ip_prefix.v4 is not known here",
            "policies[0].ip_prefix.ipv4 must be an integer from 1 to 32, but is 33",
            "policies[0].ip_prefix.ipv6 must be an integer from 1 to 128, but is 0",
            "policies[0].match.ip[0] must be an address or a network such as 203.0.113.0/24 or"
                + " 2001:db8::/32, but is '203.0.113.9/24'",
            "policies[0].match.ip[1] must be",
            "policies[0].match.ip[2] must be",
            "policies[0].match.attributes['region'] must be a list of patterns",
            "policies[0].on_cold_cache: hold" + records,
            "policies[1].key must not contain plan next to client, because a client has only one plan",
            "policies[1].ip_prefix requires a key that contains ip",
            "policies[1].match.ip must be a list of 1 to 1000 networks",
            "policies[1].match.attributes must be a mapping from 1 to 16 attributes",
            "policies[2].debt_cap" + records,
            "policies[2].lease" + records)) {
      assertHolds(problems, expected);
    }
  }

  @Test
  void parse_ownLimitOfAPolicyThatClientsShare_isRefused() {
    assertHolds(
        invalid(
            """
            policies:
              - name: all
                key: [endpoint]
                limit: {capacity: 5, refill_tokens: 1, refill_period: PT1M}
            clients:
              acme: {limits: {all: {capacity: 9, refill_tokens: 1, refill_period: PT1M}}}
            """),
        "clients['acme'].limits['all'] does not fit the policy: clients share the buckets of the policy");
  }

  @Test
  void parse_noPolicies_isValid() {
    assertEquals(0, valid("policies: []").policies().size());
  }

  @Test
  void parse_everyProblem_isNamedWithItsPlace() {
    List<String> problems =
        invalid(
            """
            policys: []
            policies:
              - match: {client: []}
                limit: {capacity: 0, refill_tokens: 1.5, refill_period: 1 minute}
              - name: b
                key: [port]
                mode: enforced
                on_cache_failure: locally
                limit: {algorithm: gcra, capacity: 1, refill_tokens: 1}
              - name: c
              - 7
            """);

    assertHolds(problems, "policys is not known here");
    assertHolds(problems, "policies[0].name is missing");
    assertHolds(problems, "policies[0].match.client must be a list");
    assertHolds(problems, "policies[0].limit.capacity must be an integer from 1");
    assertHolds(problems, "policies[0].limit.refill_tokens must be an integer");
    assertHolds(problems, "policies[0].limit.refill_period must be an ISO 8601 duration");
    assertHolds(problems, "policies[1].key must be a list of client, plan, endpoint, ip");
    assertHolds(problems, "policies[1].mode must be one of enforce, shadow, off");
    assertHolds(
        problems,
        "policies[1].on_cache_failure must be one of open, closed, local, but is 'locally'");
    assertHolds(
        problems,
        "policies[1].limit.algorithm must be one of token-bucket, quota, fixed-window, sliding-window, sliding-log, concurrency, leaky-bucket, deny");
    assertHolds(problems, "policies[2].limit is missing");
    assertHolds(problems, "policies[3] must be a mapping");
  }

  @Test
  void parse_debtCapOfATokenBucket_defaultsToOneCapacity() {
    assertEquals(
        100, valid("policies:\n  - name: a\n    " + LIMIT).policies().get(0).debtCapTokens());
    assertEquals(
        0,
        valid("policies:\n  - name: a\n    debt_cap: 0\n    " + LIMIT)
            .policies()
            .get(0)
            .debtCapTokens());
  }

  @Test
  void parse_everyProblemOfAQuota_isNamedWithItsPlace() {
    List<String> problems =
        invalid(
            """
            policies:
              - name: a
                limit: {algorithm: quota, limit: 0, period: year, time_zone: Mars/Base}
                debt_cap: -1
                on_cold_cache: maybe
              - name: b
                limit: {algorithm: quota, limit: 5}
              - name: c
                limit: {algorithm: quota, limit: 5, period: billing, billing_anchor: 2026-02-30}
              - name: d
                limit: {algorithm: quota, limit: 5, period: month, billing_anchor: 2026-01-17}
              - name: e
                limit: {algorithm: quota, capacity: 5, limit: 5, period: day, time_zone: 2}
              - name: f
                on_cold_cache: hold
                limit: {capacity: 1, refill_tokens: 1, refill_period: PT1S}
              - name: g
                debt_cap: 5
                limit: {algorithm: quota, limit: 5, period: day}
            clients:
              acme: {time_zone: Moon, billing_anchor: 17}
              b: []
              c: {zone: UTC}
              "d\\u0007": {time_zone: UTC}
            """);

    assertHolds(problems, "policies[0].limit.limit must be an integer from 1");
    assertHolds(problems, "policies[0].limit.period must be one of day, week, month, billing");
    assertHolds(problems, "policies[0].limit.time_zone must be a time zone such as Europe/Paris");
    assertTrue(problems.toString().contains("'Mars/Base'"), problems::toString);
    assertHolds(problems, "policies[6].debt_cap requires a token bucket");
    assertHolds(problems, "policies[0].debt_cap must be an integer from 0");
    assertHolds(problems, "policies[0].on_cold_cache must be one of allow, hold, but is 'maybe'");
    assertHolds(problems, "policies[1].limit.period is missing; it must be one of day");
    assertHolds(problems, "policies[2].limit.billing_anchor must be a date");
    assertHolds(problems, "policies[3].limit.billing_anchor requires period: billing");
    assertHolds(
        problems, "policies[4].limit.capacity is not known here; the known fields are algorithm");
    assertHolds(problems, "policies[4].limit.time_zone must be a time zone");
    assertHolds(problems, "policies[5].on_cold_cache: hold requires a quota or window");
    assertHolds(problems, "clients['acme'].time_zone must be a time zone");
    assertHolds(problems, "clients['acme'].billing_anchor must be a date");
    assertHolds(problems, "clients['b'] must be a mapping with the fields plan, limits, time_zone");
    assertHolds(problems, "clients['c'].zone is not known here");
    assertTrue(
        problems.stream().anyMatch(p -> p.contains("the client must not contain control")),
        problems::toString);
    assertHolds(invalid("policies: []\nclients: [acme]"), "clients must be a mapping from client");
  }

  /** Regression: these problems were reported only if everything else was right. */
  @Test
  void parse_duplicateNamesAndForbiddenFields_areReportedWithOthers() {
    List<String> problems =
        invalid(
            """
            policies:
              - name: a
                limit: {algorithm: quota, limit: 0, period: day}
                debt_cap: 5
              - name: a
                limit: {capacity: 0, refill_tokens: 1, refill_period: PT1S}
                on_cold_cache: hold
            clients:
              acme: {time_zone: Mars}
            """);

    assertHolds(problems, "policies[0].limit.limit must be an integer from 1");
    assertHolds(problems, "policies[0].debt_cap requires a token bucket");
    assertHolds(problems, "policies[1].limit.capacity must be an integer from 1");
    assertHolds(problems, "policies[1].on_cold_cache: hold requires a quota or window");
    assertHolds(problems, "policies[1].name 'a' is used twice");
    assertHolds(problems, "clients['acme'].time_zone must be a time zone");
    assertEquals(6, problems.size(), problems::toString);
  }

  @Test
  void parse_policiesNotAList_isReportedWithAWrongCalendar() {
    List<String> problems = invalid("policies: 3\nclients:\n  acme: []\n");

    assertHolds(problems, "policies must be a list");
    assertHolds(problems, "clients['acme'] must be a mapping with the fields");
  }

  @Test
  void parse_duplicateName_isRefused() {
    String twice = "  - name: a\n    " + LIMIT + "\n";

    assertHolds(invalid("policies:\n" + twice + twice), "policies[1].name 'a' is used twice");
  }

  @Test
  void parse_limitThatCannotBeCountedExactly_isRefused() {
    assertHolds(
        invalid(
            "policies:\n  - name: a\n    limit: {capacity: 9000000000000000, refill_tokens: 7,"
                + " refill_period: P1D}"),
        "policies[0].limit: capacity 9000000000000000");
  }

  @Test
  void parse_brokenYaml_namesTheLine() {
    assertTrue(invalid("policies:\n  - name: [").get(0).startsWith("line "));
    assertTrue(invalid("").get(0).contains("empty"));
    assertTrue(invalid("- a").get(0).contains("mapping"));
    assertTrue(invalid("policies: []\npolicies: []").get(0).contains("duplicate"));
  }

  /**
   * Regression: more than 100,000 clients were refused, and each had its own copy of its settings.
   */
  @Test
  void parse_manyClients_equalSettingsAreOneObject() {
    int clients = 100_001;
    StringBuilder yaml = new StringBuilder("policies:\n  - name: a\n    " + LIMIT + "\nclients:\n");
    for (int i = 0; i < clients; i++) {
      yaml.append(
          "  c%d: {limits: {a: {capacity: %d, refill_tokens: 1, refill_period: PT1S}}}\n"
              .formatted(i, 5 + i % 2));
    }
    Map<String, ClientSettings> settings = valid(yaml.toString()).clients().settings();
    Set<ClientSettings> distinct = Collections.newSetFromMap(new IdentityHashMap<>());
    distinct.addAll(settings.values());

    assertEquals(clients, settings.size());
    assertEquals(2, distinct.size());
  }

  /** Each once ended in an exception, used all memory, or was not reported in one short line. */
  static Stream<Arguments> hostileFiles() {
    String capacity =
        "policies:\n  - name: a\n    limit: {capacity: %s, refill_tokens: 1, refill_period: PT1S}\n";
    StringBuilder chain = new StringBuilder("x-a: [&l0 [1]");
    for (int i = 1; i < 3_000; i++) {
      chain.append(", &l").append(i).append(" [*l").append(i - 1).append("]");
    }
    String keys =
        IntStream.range(0, 60_000).mapToObj(i -> "k" + i + ": 1").collect(Collectors.joining(", "));
    return Stream.of(
        arguments("escape without a character", "policies: [{name: \"\\UFFFFFFFF\"}]", "escape"),
        arguments("escape at the end", "policies: \"\\x", "escape"),
        arguments("tag with an escaped space", "a: !x%20 b", "tag"),
        arguments("nested by aliases", chain + "]\n" + capacity.formatted("*l2999"), "50 deep"),
        arguments(
            "merged copies",
            "x-a: [&a {" + keys + "}" + ", {<<: *a}".repeat(2_000) + "]\npolicies: []\n",
            "repeat more than 5000000 values"),
        arguments(
            "long text many times",
            "x-b: &b \""
                + "y".repeat(50_000)
                + "\"\npolicies:\n  - name: a\n    key: ["
                + "*b, ".repeat(10_000)
                + "]\n",
            "policies[0].key must be a list of client"),
        arguments("long number", capacity.formatted("9".repeat(200)), "at most 100 digits"),
        arguments("text of digits", capacity.formatted("9".repeat(1_000_000)), "is '999"),
        arguments("many problems", "policies: [" + "{}, ".repeat(900) + "]", "name is missing"),
        arguments("line break in a key", "\"a\\nb\": 1", "a\\u{a}b is not known"),
        arguments("line break in a key that stands twice", "? \"a\\nb\"\n? \"a\\nb\"", "a\\u{a}b"),
        arguments("terminal escape in a key", "\"\\e[2J\": 1", "\\u{1b}[2J is not known"),
        arguments("line break in a value", capacity.formatted("\"a\\nb\""), "is 'a\\u{a}b'"),
        arguments(
            "long key",
            "k".repeat(900) + ": 1",
            "kkk… is not known here; the known fields are clients"),
        arguments("directive", "%YAML 1.\n---\na: 1", "line 1"),
        arguments("tag that is not closed", "a: !<abc\nb: 1", "line 1"),
        arguments("control character", "a: \u0007", "special characters are not allowed"),
        arguments("key null", "null: 1", "the key null is not a string"),
        arguments("key tilde", "~: 1", "the key ~ is not a string"),
        arguments(
            "merge by a tag",
            "!!merge policies: {policies: []}",
            "the tag !!merge is allowed only for the key <<"),
        arguments("mapping called null", "!!null {policies: []}", "the type"),
        arguments(
            "algorithm null",
            "policies: [{name: a, limit: {algorithm: ~}}]",
            "policies[0].limit.algorithm must be"),
        arguments(
            "mode true",
            "policies: [{name: a, mode: true, limit: {algorithm: deny}}]",
            "policies[0].mode must be one of"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("hostileFiles")
  void parse_hostileFile_isRefusedInShortLines(String what, String yaml, String problem) {
    List<String> problems = invalid(yaml);

    assertTrue(problems.size() <= 101, () -> problems.size() + " problems");
    for (String line : problems) {
      assertTrue(line.length() <= 600, () -> what + ": " + line.length() + " characters");
      assertTrue(line.chars().noneMatch(Character::isISOControl), line);
    }
    assertTrue(problems.stream().anyMatch(line -> line.contains(problem)), problems::toString);
  }

  @Test
  void parse_moreThanAHundredProblems_theRestIsCounted() {
    List<String> problems = invalid("policies: [" + "{}, ".repeat(900) + "]");

    assertEquals(101, problems.size());
    assertEquals("and 1700 more problems", problems.get(100));
  }
}
