// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.policy.ApiKeyHash;
import io.weir.testing.Await;
import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AccessTest {
  private static final int SEEDS = 2_000;

  @TempDir private Path folder;

  private Path tokens(TokenFile.Entry... entries) throws Exception {
    TokenFile file = TokenFile.empty();
    for (TokenFile.Entry entry : entries) {
      file = file.with(entry);
    }
    return Files.writeString(folder.resolve("tokens.yml"), file.text());
  }

  private static TokenFile.Entry entry(String name, String token, @Nullable Instant expiresAt) {
    return new TokenFile.Entry(
        ApiKeyHash.of(token), new Grant(name, Set.of(Scope.CHECK), Set.of()), expiresAt);
  }

  private static Access open(Map<String, String> variables) {
    return Access.open(AccessSettings.of(Settings.of(variables)));
  }

  private static String granted(Access access, String token) {
    return assertInstanceOf(Access.Granted.class, access.of("Bearer " + token)).grant().name();
  }

  private static String refused(Access access, @Nullable String authorization) {
    return assertInstanceOf(Access.Refused.class, access.of(authorization)).detail();
  }

  @Test
  void withoutTokens_everybodyMayDoEverything() {
    try (Access access = open(Map.of())) {
      assertTrue(access.isOpen());
      assertEquals(new Access.Granted(Grant.EVERYTHING), access.of(null));
    }
  }

  @Test
  void tokensFile_deletedAndPutBack_isCountedAsRefusedMeanwhile() throws Exception {
    String token = BearerToken.create();
    Path file = tokens(entry("gateway", token, null));
    String content = Files.readString(file);
    try (Access access = open(Map.of("WEIR_TOKENS_FILE", file.toString()))) {
      Files.delete(file);
      Await.until("the file is refused", () -> WatchedFile.countRefused() == 1);
      assertEquals("gateway", granted(access, token));

      Files.writeString(file, content);
      Await.until("the file is taken", () -> WatchedFile.countRefused() == 0);

      Files.writeString(file, "tokens: 3");
      Await.until("the file is refused again", () -> WatchedFile.countRefused() == 1);
    }
    assertEquals(0, WatchedFile.countRefused());
  }

  @Test
  void tokenOfTheFile_isKnownByItsHash() throws Exception {
    String token = BearerToken.create();
    Path file = tokens(entry("gateway", token, null));
    try (Access access = open(Map.of("WEIR_TOKENS_FILE", file.toString()))) {
      assertEquals("gateway", granted(access, token));
      assertEquals("gateway", granted(access, "  " + token));
      assertEquals(
          "gateway",
          assertInstanceOf(Access.Granted.class, access.of("bearer " + token)).grant().name());
      assertEquals("this process", granted(access, access.ownToken()));
      assertTrue(refused(access, null).contains("Authorization: Bearer"));
      assertTrue(refused(access, "Basic " + token).contains("a token is required"));
      assertTrue(refused(access, "Bearer ").contains("a token is required"));
      assertTrue(refused(access, "Bearer " + token + "x").contains("unknown"));
      assertTrue(refused(access, "Bearer " + ApiKeyHash.of(token)).contains("unknown"));
    }
  }

  @Test
  void tokenThatExpires_isRefusedFromThenOn() throws Exception {
    Path file =
        tokens(
            entry("over", "weirt_over", Instant.now().minusMillis(1)),
            entry("valid", "weirt_valid", Instant.now().plus(Duration.ofDays(1))));
    try (Access access = open(Map.of("WEIR_TOKENS_FILE", file.toString()))) {
      assertEquals("valid", granted(access, "weirt_valid"));
      assertTrue(refused(access, "Bearer weirt_over").contains("expired"));
    }
  }

  /**
   * A changed file is used after about a second, without a restart. An invalid file has no effect.
   */
  @Test
  void fileThatChanges_isReadAgain() throws Exception {
    Path file = tokens(entry("old", "weirt_old", null));
    try (Access access = open(Map.of("WEIR_TOKENS_FILE", file.toString()))) {
      tokens(entry("old", "weirt_old", null), entry("new", "weirt_new", null));
      Await.until(
          "the new token to be accepted",
          () -> access.of("Bearer weirt_new") instanceof Access.Granted);
      Files.writeString(file, "tokens: [{name: broken");
      Path next = Files.writeString(folder.resolve("next"), "tokens: []\n");
      // when the next file is used, the process has also read the invalid file
      assertEquals("old", granted(access, "weirt_old"));
      Files.move(next, file, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
      Await.until(
          "tokens to be taken away", () -> access.of("Bearer weirt_new") instanceof Access.Refused);
    }
  }

  @Test
  void fileThatIsInvalidAtTheStart_isRefusedByItsVariable() throws Exception {
    Path file = Files.writeString(folder.resolve("tokens.yml"), "tokens: 5\n");
    InvalidSettingException refused =
        assertThrows(
            InvalidSettingException.class, () -> open(Map.of("WEIR_TOKENS_FILE", file.toString())));
    assertTrue(
        String.valueOf(refused.getMessage()).contains("WEIR_TOKENS_FILE"), refused::toString);
  }

  @Test
  void randomHeaders_areRefused_andBreakNothing() throws Exception {
    Path secret = Files.write(folder.resolve("secret"), new byte[32]);
    Map<String, String> variables = new HashMap<>();
    variables.put("WEIR_TOKENS_FILE", tokens(entry("a", "weirt_a", null)).toString());
    variables.put("WEIR_PORTAL_KEY_FILE", secret.toString());
    try (Access access = open(variables)) {
      String valid = access.portal().orElseThrow().issue(Set.of("acme"), Duration.ofHours(1));
      for (int seed = 1; seed <= SEEDS; seed++) {
        Random random = new Random(seed);
        StringBuilder token =
            new StringBuilder(random.nextBoolean() ? valid : "weirt_abcdefghijklmn");
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
          int at = random.nextInt(token.length());
          switch (random.nextInt(3)) {
            case 0 -> token.deleteCharAt(at);
            case 1 -> token.insert(at, (char) (1 + random.nextInt(300)));
            default -> token.setCharAt(at, (char) (1 + random.nextInt(300)));
          }
        }
        String sent = token.toString();
        if (!sent.strip().equals(valid)) {
          String where = "seed " + seed + ": " + sent;
          assertInstanceOf(Access.Refused.class, access.of("Bearer " + sent), where);
        }
      }
    }
  }

  @Test
  void tokenForAClientsPage_readsThatClientUntilItEnds() throws Exception {
    Path secret = Files.writeString(folder.resolve("secret"), "s".repeat(32));
    Map<String, String> variables = new HashMap<>();
    variables.put("WEIR_TOKENS_FILE", tokens().toString());
    variables.put("WEIR_PORTAL_KEY_FILE", secret.toString());
    try (Access access = open(variables)) {
      String token = access.portal().orElseThrow().issue(Set.of("acme"), Duration.ofHours(1));
      Grant grant = assertInstanceOf(Access.Granted.class, access.of("Bearer " + token)).grant();
      assertTrue(grant.mayRead("acme"));
      assertTrue(!grant.mayRead("other"));
      assertEquals(Set.of(Scope.REPORT), grant.scopes());

      String over = access.portal().orElseThrow().issue(Set.of("acme"), Duration.ZERO);
      assertTrue(refused(access, "Bearer " + over).contains("expired"));
      // portal tokens are never cached, because a new secret invalidates them
      Files.writeString(secret, "t".repeat(32));
      Await.until("the other secret", () -> access.of("Bearer " + token) instanceof Access.Refused);
      assertEquals(Optional.empty(), access.known("Bearer " + token));
    }
  }

  @Test
  void secretThatIsShort_isRefused() throws Exception {
    Path secret = Files.writeString(folder.resolve("secret"), "s".repeat(31));
    InvalidSettingException refused =
        assertThrows(
            InvalidSettingException.class,
            () ->
                open(
                    Map.of(
                        "WEIR_TOKENS_FILE",
                        tokens().toString(),
                        "WEIR_PORTAL_KEY_FILE",
                        secret.toString())));
    assertTrue(
        String.valueOf(refused.getMessage()).contains("32 to 4,096 random bytes, but has 31"));
  }
}
