// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.AggregatorConfig;
import io.weir.e2e.ForeignProgram;
import io.weir.ingest.IngestConfig;
import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The units for systemd, read by systemd's own tool, and their settings by the processes. */
final class SystemdTest {
  private static final Path FOLDER = Checkout.file("deploy/systemd");
  private static final String ENTRYPOINT = "/opt/weir/entrypoint.sh";
  private static final String ORIGIN = "systemd (Debian: apt install systemd)";

  @ParameterizedTest
  @ValueSource(strings = {"weir-ingest.service", "weir-aggregate.service"})
  void unit_isUnderstood_andExposesLittle(String name, @TempDir Path folder) throws Exception {
    Path unit = folder.resolve(name);
    String text = Files.readString(FOLDER.resolve(name));
    assertTrue(text.contains("ExecStart=" + ENTRYPOINT + " "), text);
    // where it is on this machine
    Path entrypoint = Checkout.file("deploy/docker/entrypoint.sh");
    assertTrue(Files.isExecutable(entrypoint));
    Files.writeString(unit, text.replace(ENTRYPOINT, entrypoint.toString()));

    assertEquals(
        "", ForeignProgram.run("systemd-analyze", ORIGIN, folder, "verify", unit.toString()));
    ForeignProgram.run(
        "systemd-analyze",
        ORIGIN,
        folder,
        "security",
        "--offline=true",
        "--threshold=25",
        unit.toString());
  }

  /** It once named files of the top folder that were moved below {@code deploy}. */
  @Test
  void installation_placesTheFilesThatTheUnitsName(@TempDir Path folder) throws Exception {
    Files.writeString(folder.resolve("tokens.yml"), "tokens: []\n");
    Files.createDirectories(folder.resolve("etc/systemd/system"));
    String page = Files.readString(Checkout.file("docs/operate/install.md"));
    StringBuilder script = new StringBuilder("set -e\ncd " + Checkout.root() + "\n");
    page.lines()
        .filter(line -> line.startsWith("install "))
        .map(line -> line.replace(" /", " " + folder + "/"))
        .map(line -> line.replace(" tokens.yml", " " + folder + "/tokens.yml"))
        .forEach(line -> script.append(line).append('\n'));

    ForeignProgram.run("bash", "bash", folder, "-c", script.toString());

    assertTrue(Files.isExecutable(folder.resolve(ENTRYPOINT.substring(1))), script::toString);
    assertTrue(Files.exists(folder.resolve("etc/weir/policies.yml")), script::toString);
    assertTrue(Files.exists(folder.resolve("etc/systemd/system/weir-ingest.service")));
  }

  @Test
  void settings_areRead(@TempDir Path one, @TempDir Path other) throws Exception {
    IngestConfig node = IngestConfig.of(PlacedFiles.of(settings("ingest.env"), one));
    assertEquals("ingest-1", node.node());

    AggregatorConfig.of(PlacedFiles.of(settings("aggregate.env"), other));
  }

  private static Map<String, String> settings(String file) throws IOException {
    Map<String, String> settings = new TreeMap<>(Map.of("WEIR_DATA", "/var/lib/weir"));
    for (String line : Files.readAllLines(FOLDER.resolve(file))) {
      if (!line.isBlank() && !line.startsWith("#")) {
        String[] parts = line.split("=", 2);
        settings.put(parts[0], parts[1]);
      }
    }
    return settings;
  }
}
