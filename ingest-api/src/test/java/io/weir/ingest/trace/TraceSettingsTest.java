// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.settings.Settings;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TraceSettingsTest {
  private static final String COLLECTOR = "http://collector:4318/v1/traces";

  @TempDir private Path folder;

  private static TraceSettings of(Map<String, String> environment) {
    return TraceSettings.of(Settings.of(environment));
  }

  private static String refusal(Map<String, String> environment) {
    return String.valueOf(
        assertThrows(InvalidSettingException.class, () -> of(environment)).getMessage());
  }

  private Map<String, String> withFile(String content) throws Exception {
    Path file = Files.writeString(folder.resolve("headers"), content);
    return Map.of(TraceSettings.ENDPOINT, COLLECTOR, TraceSettings.HEADERS_FILE, file.toString());
  }

  @Test
  void of_nothing_isOff() {
    assertNull(of(Map.of()).endpoint());
    assertEquals("off", of(Map.of()).toString());
  }

  @Test
  void of_anAddress_takesTheDocumentedDefaults() {
    TraceSettings settings = of(Map.of(TraceSettings.ENDPOINT, COLLECTOR));

    assertEquals(COLLECTOR, String.valueOf(settings.endpoint()));
    assertEquals(0.01, settings.sampling());
    assertEquals(100, settings.maxRate());
    assertTrue(settings.headers().isEmpty());
  }

  @Test
  void of_sharesFromNoneToAll_areTaken() {
    for (String share : List.of("0", "1", "0.5", "0.000001", "1.000")) {
      assertEquals(Double.parseDouble(share), of(Map.of(TraceSettings.SAMPLING, share)).sampling());
    }
  }

  @Test
  void of_wrongVariable_isNamed() {
    for (Map.Entry<String, String> wrong :
        List.of(
            Map.entry(TraceSettings.ENDPOINT, "collector:4318"),
            Map.entry(TraceSettings.ENDPOINT, "http://collector:4318"),
            Map.entry(TraceSettings.ENDPOINT, "http://collector:4318/"),
            Map.entry(TraceSettings.ENDPOINT, "grpc://collector:4317/v1/traces"),
            Map.entry(TraceSettings.ENDPOINT, "http:///v1/traces"),
            Map.entry(TraceSettings.ENDPOINT, "http://a b/v1/traces"),
            Map.entry(TraceSettings.ENDPOINT, COLLECTOR + "?token=x"),
            Map.entry(TraceSettings.SAMPLING, "1.1"),
            Map.entry(TraceSettings.SAMPLING, "-0.1"),
            Map.entry(TraceSettings.SAMPLING, "NaN"),
            Map.entry(TraceSettings.SAMPLING, "1e-3"),
            Map.entry(TraceSettings.SAMPLING, "1%"),
            Map.entry(TraceSettings.RATE, "0"),
            Map.entry(TraceSettings.RATE, "10001"),
            Map.entry(TraceSettings.HEADERS_FILE, "/nowhere/headers"))) {
      String refusal = refusal(Map.of(wrong.getKey(), wrong.getValue()));

      assertTrue(refusal.startsWith(wrong.getKey()), refusal);
    }
  }

  @Test
  void of_anAddressWithAPassword_isRefusedWithoutShowingIt() {
    for (String address :
        List.of(
            "http://user:s3cret@collector:4318/v1/traces",
            "http://user:s3cret@collector:99999999/v1/traces",
            "http://user:s3cret@col lector/v1/traces")) {
      String refusal = refusal(Map.of(TraceSettings.ENDPOINT, address));

      assertFalse(refusal.contains("s3cret"), refusal);
    }
  }

  @Test
  void of_headerFields_areReadAndNeverShown() throws Exception {
    TraceSettings settings =
        of(withFile("# token of the collector\n\nAuthorization: Bearer s3cret \nX-Scope: a b\n"));

    assertEquals(Map.of("authorization", "Bearer s3cret", "x-scope", "a b"), settings.headers());
    assertFalse(settings.toString().contains("s3cret"), settings.toString());
    assertTrue(settings.toString().contains("header_fields=2"), settings.toString());
  }

  @Test
  void of_linesThatAreNoHeaderFields_areRefusedByTheirNumber() throws Exception {
    for (String line :
        List.of(
            "s3cret",
            "s3 cret: x",
            ": s3cret",
            "s3cret:",
            "a: s3\u0001cret",
            "host: s3cret",
            "Content-Type: s3cret",
            "ok: s3cret")) {
      String refusal = refusal(withFile("ok: fine\n" + line));

      assertTrue(refusal.startsWith(TraceSettings.HEADERS_FILE + ": line 2"), refusal);
      assertFalse(refusal.contains("s3cret"), refusal);
    }
  }

  @Test
  void of_aFileThatIsTooLarge_isRefused() throws Exception {
    assertTrue(refusal(withFile("a: " + "b".repeat(17_000))).contains("16384"));
  }
}
