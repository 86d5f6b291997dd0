// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.envoy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.YamlTree;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class EnvoyImportTest {
  private static EnvoyImport read(String... files) {
    EnvoyImport imported = new EnvoyImport();
    for (int i = 0; i < files.length; i++) {
      try {
        imported.add("f" + i, YamlTree.ofTexts(files[i]));
      } catch (YamlTree.NotYamlException notYaml) {
        throw new AssertionError(notYaml);
      }
    }
    return imported;
  }

  private static String yaml(String... files) {
    EnvoyImport imported = read(files);
    assertEquals(List.of(), imported.problems());
    return PolicyFile.yaml(imported.policies());
  }

  @Test
  void add_treeOfDescriptors_becomesPolicies_namedByTheirPath() {
    assertEquals(
        """
        policies:
          - name: shop;user_id
            match:
              attributes:
                envoy.domain:
                  - shop
                envoy.descriptor:
                  - user_id
            key:
              - client
              - endpoint
            limit:
              algorithm: fixed-window
              limit: 100
              window: PT1M
          - name: shop;user_id;path=/v1/items
            match:
              attributes:
                envoy.domain:
                  - shop
                envoy.descriptor:
                  - user_id;path
                path:
                  - /v1/items
            key:
              - client
              - endpoint
            limit:
              algorithm: fixed-window
              limit: 5
              window: PT720H
            mode: shadow
        """,
        yaml(
            """
            domain: shop
            descriptors:
              - key: user_id
                detailed_metric: true
                rate_limit: {unit: minute, requests_per_unit: 100, name: each-user}
                descriptors:
                  - key: path
                    value: /v1/items
                    shadow_mode: true
                    rate_limit: {unit: MONTH, requests_per_unit: 5}
            """));
  }

  @Test
  void add_noRequests_isADenial_andUnlimitedDeniesNothing() {
    assertEquals(
        """
        policies:
          - name: shop;remote_address=192.0.2.1
            match:
              attributes:
                envoy.domain:
                  - shop
                envoy.descriptor:
                  - remote_address
                remote_address:
                  - 192.0.2.1
            key:
              - client
              - endpoint
            limit:
              algorithm: deny
          - name: shop;plan=7
            match:
              attributes:
                envoy.domain:
                  - shop
                envoy.descriptor:
                  - plan
                plan:
                  - '7'
            key:
              - client
              - endpoint
            limit:
              algorithm: token-bucket
              capacity: 1000000000
              refill_tokens: 1000000000
              refill_period: PT1S
            mode: shadow
        """,
        yaml(
            """
            domain: shop
            descriptors:
              - key: remote_address
                value: 192.0.2.1
                rate_limit: {unit: second, requests_per_unit: 0}
              - key: plan
                value: 7
                rate_limit: {unlimited: true}
            """));
  }

  @Test
  void add_valueWithoutALimit_isSaidToBeUnlimited_whereItHidesOne() {
    assertEquals(
        List.of("shop;a", "shop;a=1"),
        names(
            """
            domain: shop
            descriptors:
              - {key: a, rate_limit: {unit: second, requests_per_unit: 1}}
              - {key: a, value: 1}
              - {key: b, value: 1}
            """));
    assertEquals(
        List.of("shop;a;b=2", "shop;a=1;b=2"),
        names(
            """
            domain: shop
            descriptors:
              - key: a
                descriptors: [{key: b, value: 2, rate_limit: {unit: day, requests_per_unit: 1}}]
              - key: a
                value: 1
                descriptors: [{key: b, value: 3}]
            """));
  }

  private static List<String> names(String file) {
    List<String> names = new ArrayList<>();
    EnvoyImport imported = read(file);
    assertEquals(List.of(), imported.problems());
    imported.policies().path("policies").forEach(policy -> names.add(policy.path("name").asText()));
    return names;
  }

  @Test
  void add_valuesThatYamlGivesAType_areTakenAsTheyStandInTheFile() {
    String file =
        """
        domain: shop
        descriptors:
          - {key: a, value: True, rate_limit: &limit {unit: second, requests_per_unit: 1}}
          - {key: a, value: true, rate_limit: *limit}
          - {key: a, value: +49, rate_limit: *limit}
          - {key: a, value: 49, rate_limit: *limit}
          - {key: a, value: -0, rate_limit: *limit}
          - {key: a, value: 007, rate_limit: *limit}
          - {key: a, value: 0x1F, rate_limit: *limit}
          - {key: a, value: 1.50, rate_limit: *limit}
          - {key: a, value: 1E3, rate_limit: *limit}
          - {key: a, value: "~", rate_limit: *limit}
          - {key: FALSE, rate_limit: *limit}
          - {key: 1.10, rate_limit: *limit}
        """;
    assertEquals(
        List.of(
            "shop;a=True",
            "shop;a=true",
            "shop;a=+49",
            "shop;a=49",
            "shop;a=-0",
            "shop;a=007",
            "shop;a=0x1F",
            "shop;a=1.50",
            "shop;a=1E3",
            "shop;a=~",
            "shop;FALSE",
            "shop;1.10"),
        names(file));
    assertEquals(
        "True",
        read(file)
            .policies()
            .path("policies")
            .path(0)
            .path("match")
            .path("attributes")
            .path("a")
            .path(0)
            .textValue());
  }

  @Test
  void add_numbersAndFlags_areReadFromTheirTexts() {
    assertEquals(
        List.of(
            "f0: descriptors[0].rate_limit.requests_per_unit must be a number from 0 to 4294967295",
            "f0: descriptors[1].rate_limit.requests_per_unit must be a number from 0 to 4294967295",
            "f0: descriptors[2].rate_limit.requests_per_unit must be a number from 0 to 4294967295",
            "f0: descriptors[3].rate_limit.requests_per_unit must be a number from 0 to 4294967295",
            "f0: descriptors[4].shadow_mode must be true or false",
            "f0: descriptors[5].shadow_mode must be true or false",
            "f0: descriptors[6].rate_limit.requests_per_unit must be a number from 0 to 4294967295"),
        read("""
                domain: shop
                descriptors:
                  - {key: a, rate_limit: {unit: day, requests_per_unit: -1}}
                  - {key: b, rate_limit: {unit: day, requests_per_unit: 1.5}}
                  - {key: c, rate_limit: {unit: day, requests_per_unit: 99999999999999999999999}}
                  - {key: d, rate_limit: {unit: day, requests_per_unit: }}
                  - {key: e, shadow_mode: yes}
                  - {key: f, shadow_mode: }
                  - {key: g, rate_limit: {unit: day, requests_per_unit: 010}}
                  - {key: h, shadow_mode: True, rate_limit: {unit: day, requests_per_unit: 10}}
                """)
            .problems());
  }

  @Test
  void add_keyWithASemicolon_isRefused_sinceItWouldStandForTwoKeys() {
    assertEquals(
        List.of(
            "f0: descriptors[0].key must not have a ;, which separates keys in policies",
            "f0: descriptors[1].descriptors[0].key must not have a ;, which separates keys in"
                + " policies"),
        read("""
                domain: shop
                descriptors:
                  - {key: c;d, rate_limit: {unit: day, requests_per_unit: 7}}
                  - key: c
                    descriptors:
                      - {key: ";", rate_limit: {unit: day, requests_per_unit: 8}}
                """)
            .problems());
    // a value may have one, and stays another value than a path of two
    assertEquals(
        List.of("shop;a=x%3Bb%3Dy", "shop;a=x;b=y"),
        names(
            """
            domain: shop
            descriptors:
              - {key: a, value: "x;b=y", rate_limit: {unit: day, requests_per_unit: 5}}
              - key: a
                value: x
                descriptors: [{key: b, value: y, rate_limit: {unit: day, requests_per_unit: 6}}]
            """));
  }

  @Test
  void add_severalDomains_areOneFile() {
    String other =
        "domain: other\ndescriptors: [{key: a, rate_limit: {unit: year, requests_per_unit: 1}}]";
    String shop = other.replace("domain: other", "domain: shop");
    EnvoyImport both = read(shop, other);

    assertEquals(List.of(), both.problems());
    assertEquals(2, both.policies().path("policies").size());
    assertEquals(
        List.of("f1: domain is 'shop', as in an earlier file"), read(shop, shop).problems());
  }

  /** The value is taken by its beginning, whose limit a policy without one would hide. */
  @Test
  void add_valueThatABeginningTakes_isNotSaidToBeUnlimited() {
    assertEquals(
        List.of("shop;a=x;b=y*", "shop;a;b=yz", "shop;a;b", "shop;a=x;b"),
        names(
            """
            domain: shop
            descriptors:
              - key: a
                value: x
                descriptors:
                  - {key: b}
                  - {key: b, value: "y*", rate_limit: {unit: day, requests_per_unit: 6}}
              - key: a
                descriptors:
                  - {key: b, value: yz, rate_limit: {unit: day, requests_per_unit: 9}}
                  - {key: b, rate_limit: {unit: day, requests_per_unit: 8}}
            """));
  }

  /** A name may be that of several limits, and of none, which there replaces nothing. */
  @Test
  void add_replaces_namesThePoliciesOfTheLimitsOfThatName() {
    JsonNode policies =
        read("""
            domain: shop
            descriptors:
              - key: a
                value: x
                rate_limit: {unit: day, requests_per_unit: 5, name: small, replaces: [{name: c}]}
              - {key: a, value: y, rate_limit: {unit: day, requests_per_unit: 6, name: small}}
              - key: b
                rate_limit:
                  unlimited: true
                  replaces: [{name: small}, {name: nobody}, {name: small}]
              - {key: c, rate_limit: {unit: day, requests_per_unit: 7, replaces: [{name: none}]}}
            """)
            .policies()
            .path("policies");

    assertEquals("[\"shop;a=x\",\"shop;a=y\"]", policies.get(2).path("replaces").toString());
    assertEquals(
        List.of(false, false, true, false),
        List.of(
            policies.get(0).has("replaces"),
            policies.get(1).has("replaces"),
            policies.get(2).has("replaces"),
            policies.get(3).has("replaces")));
  }

  @Test
  void add_wrongReplaces_isNamedByItsPath() {
    assertEquals(
        List.of(
            "f0: descriptors[0].rate_limit.replaces[0].name must not name the limit itself",
            "f0: descriptors[0].rate_limit.replaces[1].name is missing",
            "f0: descriptors[0].rate_limit.replaces[2] must be a mapping with a name",
            "f0: descriptors[0].rate_limit.replaces[3].limit is not known",
            "f0: descriptors[1].rate_limit.replaces must be a list"),
        read("""
                domain: shop
                descriptors:
                  - key: a
                    rate_limit:
                      unit: day
                      requests_per_unit: 5
                      name: own
                      replaces: [{name: own}, {}, other, {name: b, limit: 1}]
                  - {key: b, rate_limit: {unit: day, requests_per_unit: 5, replaces: {name: a}}}
                """)
            .problems());
  }

  @Test
  void add_whatHasNoCounterpart_isNamedByItsPath() {
    assertEquals(
        List.of(
            "f0: weight is not known",
            "f0: descriptors[0].rate_limit.quota_mode has no counterpart",
            "f0: descriptors[0].rate_limit.requests_per_unit must be a number from 0 to 4294967295",
            "f0: descriptors[0].rate_limit.unit must be second, minute, hour, day, week, month or"
                + " year",
            "f0: descriptors[0].descriptors[0].share_threshold has no counterpart: in Weir, each"
                + " value has its own bucket",
            "f0: descriptors[0].descriptors[0].key is missing",
            "f0: descriptors[0].descriptors[0].value has a * before its end, which patterns"
                + " cannot express",
            "f0: descriptors[1].shadow_mode must be true or false",
            "f0: descriptors[2] repeats the key and value of an earlier descriptor",
            "f0: descriptors[3].value must be a string; put it in quotes",
            "f0: descriptors[3].rate_limit must not have unit or requests_per_unit, because the limit"
                + " is unlimited",
            "f0: descriptors[5] never applies, because descriptors[4] precedes it and matches the same values",
            "f0: descriptors[6] must be a mapping"),
        read("""
                domain: shop
                weight: 1
                descriptors:
                  - key: a
                    rate_limit:
                      unit: fortnight
                      requests_per_unit: 4294967296
                      quota_mode: true
                    descriptors:
                      - {value: "x*y", share_threshold: true}
                  - {key: b, shadow_mode: maybe}
                  - {key: b}
                  - {key: c, value: [1], rate_limit: {unlimited: true, unit: day}}
                  - {key: d, value: "x*"}
                  - {key: d, value: "xy*"}
                  - text
                """)
            .problems());
    assertEquals(
        List.of("f0: the file must be a mapping of domain and descriptors"),
        read("- a").problems());
    assertEquals(List.of("f0: domain is missing"), read("descriptors: []").problems());
    assertEquals(
        List.of(
            "f0: domain must not have a *, which means any text in patterns",
            "f0: descriptors must be a list"),
        read("{domain: 'a*', descriptors: x}").problems());
  }
}
