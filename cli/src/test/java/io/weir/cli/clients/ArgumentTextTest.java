// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.cli.WeirCommand;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Names that are not those that were typed. */
final class ArgumentTextTest {
  private static final String ASCII = "ANSI_X3.4-1968";

  /** The erasure of an unknown name would report that no data of the client remains. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void clientOutsideOfTheLocalesEncoding_isRefused_andNotTakenForAnother() throws Exception {
    Process erase =
        withoutLocale(
            "exec \"$0\" -cp \"$1\" \"$2\" clients erase \"$(printf 'caf\\303\\251')\" --dry-run",
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            System.getProperty("java.class.path"),
            WeirCommand.class.getName());
    String said = new String(erase.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertTrue(erase.waitFor(1, TimeUnit.MINUTES), "it has ended");
    assertEquals(2, erase.exitValue(), said);
    assertTrue(said.contains("CLIENT cannot be read in the encoding of the locale"), said);
  }

  private static Process withoutLocale(String script, String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("sh", "-c", script));
    command.addAll(List.of(arguments));
    ProcessBuilder process = new ProcessBuilder(command).redirectErrorStream(true);
    process.environment().keySet().removeIf(name -> name.startsWith("LC_") || name.equals("LANG"));
    process.environment().put("WEIR_KAFKA", "127.0.0.1:1");
    return process.start();
  }

  @Test
  void replacementCharacter_isRefusedWhereArgumentsAreNotUnicode() {
    assertNotNull(ArgumentText.violation("caf\uFFFD\uFFFD", ASCII));
    assertNotNull(ArgumentText.violation("caf\uFFFD\uFFFD", "X-UNKNOWN"));
    assertNull(ArgumentText.violation("cafe", ASCII));
  }

  @Test
  void replacementCharacter_isPartOfANameWhereArgumentsAreUnicode() {
    assertNull(ArgumentText.violation("caf\uFFFD", "UTF-8"));
    assertNull(ArgumentText.violation("café", "UTF-8"));
  }
}
