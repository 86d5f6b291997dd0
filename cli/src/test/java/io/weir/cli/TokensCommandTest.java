// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.access.Grant;
import io.weir.access.Scope;
import io.weir.access.TokenFile;
import io.weir.limits.policy.ApiKeyHash;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

final class TokensCommandTest {
  @TempDir private Path folder;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... arguments) {
    out.getBuffer().setLength(0);
    err.getBuffer().setLength(0);
    CommandLine weir =
        WeirCommand.commandLine(Map.of("WEIR_TOKENS_FILE", file().toString()))
            .setOut(new PrintWriter(out))
            .setErr(new PrintWriter(err));
    List<String> all = new ArrayList<>(List.of("tokens"));
    all.addAll(List.of(arguments));
    return weir.execute(all.toArray(String[]::new));
  }

  private Path file() {
    return folder.resolve("tokens.yml");
  }

  private TokenFile written() throws Exception {
    return TokenFile.parse(Files.readString(file()));
  }

  @Test
  void create_printsTheToken_andKeepsItsHash() throws Exception {
    assertEquals(0, run("create", "gateway", "--scope", "check,report"), err::toString);
    String token = out.toString().strip();
    assertTrue(token.matches("weirt_[A-Za-z0-9_-]{43}"), token);
    assertFalse(Files.readString(file()).contains(token));
    assertFalse(err.toString().contains(token));

    assertEquals(
        0,
        run("create", "acme", "--scope", "report", "--client", "acme", "--expires-in", "90d"),
        err::toString);
    List<TokenFile.Entry> entries = written().entries();
    assertEquals(ApiKeyHash.of(token), entries.get(0).hash());
    assertEquals(
        new Grant("gateway", Set.of(Scope.CHECK, Scope.REPORT), Set.of()), entries.get(0).grant());
    assertEquals(new Grant("acme", Set.of(Scope.REPORT), Set.of("acme")), entries.get(1).grant());
    assertTrue(entries.get(1).expiresAt() != null);
    assertEquals(List.of("tokens.yml"), List.of(folder.toFile().list()));
  }

  @Test
  void list_showsScopes_revokeRemovesAToken() throws Exception {
    assertEquals(0, run("create", "gateway", "--scope", "check"));
    assertEquals(0, run("create", "acme", "--scope", "report", "--client", "b", "--client", "a"));
    assertEquals(0, run("list"));
    assertTrue(
        out.toString().contains("gateway              check, does not expire"), out::toString);
    assertTrue(out.toString().contains("report of a, b"), out::toString);
    assertTrue(out.toString().contains("2 tokens"), out::toString);

    assertEquals(0, run("revoke", "gateway"));
    assertFalse(written().has("gateway"));
    assertEquals(1, run("revoke", "gateway"));
    assertTrue(err.toString().contains("there is no token gateway in"), err::toString);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "create a b --scope check | Unmatched argument",
        "create a | Missing required option",
        "create a --scope write | --scope must be check, report or admin, but is 'write'",
        "create a/b --scope check | name must be 1 to 64",
        "create a --scope check --client b | --client requires --scope report, and no other scope",
        "create a --scope check --expires-in soon | --expires-in must be a duration",
        "create taken --scope check | the token taken exists already in"
      })
  void wrongArguments_areMisuse(String arguments, String part) throws Exception {
    assertEquals(0, run("create", "taken", "--scope", "check"));
    String before = Files.readString(file());
    assertEquals(2, run(arguments.split(" ", -1)), err::toString);
    assertTrue(err.toString().contains(part), err::toString);
    assertEquals(before, Files.readString(file()));
  }

  @Test
  void fileThatIsInvalid_isNotOverwritten() throws Exception {
    Files.writeString(file(), "tokens: 5\n");
    assertEquals(1, run("create", "a", "--scope", "check"));
    assertTrue(
        err.toString().contains("tokens.yml: the file must have only the member"), err::toString);
    assertEquals("tokens: 5\n", Files.readString(file()));
  }
}
