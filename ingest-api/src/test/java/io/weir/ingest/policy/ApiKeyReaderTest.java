// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.weir.limits.policy.ApiKey;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.limits.policy.ApiKeys;
import io.weir.limits.policy.ClientSettings;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ApiKeyReaderTest {
  private static final String ONE = "%064x".formatted(0xabc1);
  private static final String TWO = "%064x".formatted(0xabc2);

  /** A key that no problem may repeat, in whichever field it is given by mistake. */
  private static final String SECRET = "weir_dGhpcyBpcyBhIGtleSB0aGF0IG5vYm9keSBzaG91bGQgc2VlIQ";

  @Test
  void read_everyField() {
    Map<String, ClientSettings> settings =
        valid(
            """
            clients:
              acme:
                api_keys:
                  - {id: old.1, sha256: "%s", expires_at: 2027-01-01T00:00:00+01:00, x-for: ci}
                  - {id: new-2, sha256: "%s"}
              zoo: {api_keys: []}
            """
                .formatted(ONE, TWO));

    assertEquals(
        List.of(
            new ApiKey(
                "old.1",
                ApiKeyHash.parse(ONE),
                Instant.parse("2026-12-31T23:00:00Z").toEpochMilli()),
            new ApiKey("new-2", ApiKeyHash.parse(TWO), ApiKey.NEVER)),
        keys(settings, "acme"));
    assertEquals(List.of(), keys(settings, "zoo"));
  }

  private static List<ApiKey> keys(Map<String, ClientSettings> settings, String client) {
    ClientSettings own = settings.get(client);
    assertNotNull(own);
    return own.apiKeys();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{}| must be a list of at most 100 keys",
        "[k]| [0] must be a mapping with the fields id, sha256, expires_at",
        "[{sha256: HASH}]| [0].id is missing",
        "[{id: 7, sha256: HASH}]| [0].id must be a string",
        "[{id: '', sha256: HASH}]| [0].id must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and"
            + " not begin with weir_",
        "[{id: a/b, sha256: HASH}]| [0].id must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and"
            + " not begin with weir_",
        "[{id: k}]| [0].sha256 is missing",
        "[{id: k, sha256: 12}]| [0].sha256 must be a string",
        "[{id: k, sha256: ABCD}]| [0].sha256 must be the SHA-256 of the complete key, as 64"
            + " lower-case hexadecimal digits",
        "[{id: k, sha256: HASH, expires_at: soon}]| [0].expires_at must be an RFC 3339 time such as"
            + " 2026-12-01T00:00:00Z, but is 'soon'",
        "[{id: k, sha256: HASH, expires_at: 5}]| [0].expires_at must be an RFC 3339 time such as"
            + " 2026-12-01T00:00:00Z, but is 5",
        "[{id: k, sha256: HASH, key: a}]| [0].key is not known here; the known fields are expires_at, id,"
            + " sha256",
        "[{id: k, sha256: HASH}, {id: k, sha256: OTHER}]| [1].id must be unique, but another key of"
            + " the client has the same id"
      })
  void read_wrong_isNamed(String list, String problem) {
    String keys = list.replace("HASH", '"' + ONE + '"').replace("OTHER", '"' + TWO + '"');
    List<String> problems = invalid("clients: {acme: {api_keys: %s}}".formatted(keys));

    String separator = problem.startsWith("[") ? "" : " ";
    assertEquals(List.of("clients['acme'].api_keys" + separator + problem), problems);
  }

  @Test
  void read_upperCaseHash_isRefused_sinceOneHashHasOneText() {
    assertEquals(
        1,
        invalid("clients: {a: {api_keys: [{id: k, sha256: \"%s\"}]}}".formatted("A".repeat(64)))
            .size());
  }

  @Test
  void read_aKeyGivenByMistake_isNotRepeated() {
    for (String list :
        List.of(
            SECRET,
            "[" + SECRET + "]",
            "[{id: " + SECRET + ", sha256: " + ONE + "a}]",
            "[{id: k, sha256: " + SECRET + "}]",
            "[{id: k, sha256: [" + SECRET + "]}]")) {
      List<String> problems = invalid("clients: {acme: {api_keys: %s}}".formatted(list));
      assertFalse(problems.toString().contains(SECRET), problems::toString);
    }
  }

  @Test
  void read_hundredKeys_areTaken_andOneMoreIsRefused() {
    assertEquals(
        ApiKeys.MAX_OF_CLIENT,
        keys(valid("clients: {a: {api_keys: [%s]}}".formatted(many(100))), "a").size());
    assertEquals(
        List.of("clients['a'].api_keys must be a list of at most 100 keys, but has 101"),
        invalid("clients: {a: {api_keys: [%s]}}".formatted(many(101))));
  }

  private static String many(int count) {
    return IntStream.range(0, count)
        .mapToObj("{id: k%1$d, sha256: \"%1$064x\"}"::formatted)
        .collect(Collectors.joining(", "));
  }

  @Test
  void sameHash_twice_isRefused_withBothPlaces() {
    assertEquals(
        List.of(
            "clients['b'].api_keys[1].sha256 must differ from clients['a'].api_keys[0].sha256",
            "clients['b'].api_keys[2].sha256 must differ from clients['b'].api_keys[0].sha256"),
        invalid(
            """
            clients:
              b: {api_keys: [{id: 'x', sha256: "%s"}, {id: 'z', sha256: "%s"}, {id: w, sha256: "%s"}]}
              a: {api_keys: [{id: 'x', sha256: "%s"}]}
            """
                .formatted(ONE, TWO, ONE, TWO)));
  }

  private static Map<String, ClientSettings> valid(String clients) {
    return assertInstanceOf(
            PolicyFile.Content.Valid.class, PolicyFile.parse("policies: []\n" + clients))
        .policies()
        .clients()
        .settings();
  }

  private static List<String> invalid(String clients) {
    return assertInstanceOf(
            PolicyFile.Content.Invalid.class, PolicyFile.parse("policies: []\n" + clients))
        .problems();
  }
}
