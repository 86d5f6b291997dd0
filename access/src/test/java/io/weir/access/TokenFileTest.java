// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.policy.ApiKeyHash;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class TokenFileTest {
  private static final String HASH = ApiKeyHash.of("weirt_secret").toString();
  private static final String OTHER = ApiKeyHash.of("weirt_other").toString();

  private static String problem(String text) {
    return String.valueOf(
        assertThrows(TokenFile.InvalidException.class, () -> TokenFile.parse(text)).getMessage());
  }

  @Test
  void text_isReadAsItWasWritten() throws Exception {
    TokenFile file =
        TokenFile.empty()
            .with(
                new TokenFile.Entry(
                    ApiKeyHash.parse(HASH),
                    new Grant("gateway", Set.of(Scope.CHECK, Scope.ADMIN), Set.of()),
                    null))
            .with(
                new TokenFile.Entry(
                    ApiKeyHash.parse(OTHER),
                    new Grant(
                        "portal",
                        Set.of(Scope.REPORT),
                        Set.of(
                            "acme", "no: yes", "12", "yes", "null", "1e3", "2027-01-01", "ü\"'")),
                    Instant.parse("2027-01-01T00:00:00Z")));

    TokenFile read = TokenFile.parse(file.text());

    assertEquals(file.entries(), read.entries());
    assertTrue(read.has("portal"));
    assertFalse(read.without("portal").has("portal"));
    assertEquals(List.of("gateway"), names(read.without("portal")));
  }

  private static List<String> names(TokenFile file) {
    return file.entries().stream().map(entry -> entry.grant().name()).toList();
  }

  @Test
  void emptyFile_hasNoToken() throws Exception {
    // a file that is being replaced may be empty for a short time
    assertTrue(problem("").contains("the file is empty"));
    assertTrue(problem("\n").contains("the file is empty"));
    assertEquals(List.of(), TokenFile.parse("tokens: []\n").entries());
    assertEquals(List.of(), TokenFile.parse("{\"tokens\": []}").entries());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tokens: 5 | the file must have only the member",
        "token: [] | the file must have only the member",
        "[] | the file must have only the member",
        "tokens: [5] | tokens[0] must be an object",
        "'tokens: [{name: a b, sha256: H, scopes: [check]}]' | tokens[0].name must be 1 to 64",
        "'tokens: [{sha256: H, scopes: [check]}]' | tokens[0].name must be 1 to 64",
        "'tokens: [{name: a, sha256: weirt_x, scopes: [check]}]' | tokens[0].sha256 must be the",
        "'tokens: [{name: a, sha256: H, scopes: []}]' | tokens[0].scopes must be a list",
        "'tokens: [{name: a, sha256: H, scopes: [write]}]' | tokens[0].scopes must be check",
        "'tokens: [{name: a, sha256: H, scopes: check}]' | tokens[0].scopes must be a list",
        "'tokens: [{name: a, sha256: H, scopes: [check], client: b}]' | tokens[0].client is"
            + " unknown",
        "'tokens: [{name: a, sha256: H, scopes: [check], clients: [b]}]' | is allowed only for",
        "'tokens: [{name: a, sha256: H, scopes: [report], clients: []}]' | must be a list of 1",
        "'tokens: [{name: a, sha256: H, scopes: [report], clients: [5]}]' | must be text, but is 5",
        "'tokens: [{name: a, sha256: H, scopes: [check], expires_at: soon}]' | must be a time",
        "'tokens: [{name: a, sha256: H, scopes: [check]}, {name: a, sha256: H, scopes: [check]}]'"
            + " | tokens[1].name is not unique",
        "'tokens: [' | the file must be YAML",
        "'tokens: []\ntokens: []' | the file must be YAML"
      })
  void invalid_isRefusedByItsPlace(String text, String part) {
    String said = problem(text.replace("H", HASH));
    assertTrue(said.contains(part), said);
  }

  /** An operator may have written the token instead of its hash. */
  @Test
  void refusalOfAHash_doesNotRepeatIt() {
    String said = problem("tokens: [{name: a, sha256: weirt_secret, scopes: [check]}]");
    assertFalse(said.contains("weirt_secret"), said);
  }

  @Test
  void everyProblem_isNamed() {
    String said = problem("tokens: [{name: '', sha256: x, scopes: [y]}, {name: b}]");
    assertEquals(5, said.lines().count(), said);
  }
}
