// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import io.weir.testing.suite.TestResult.Outcome;
import io.weir.testing.suite.TestResult.Plugin;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/** Reads the XML reports of Surefire and Failsafe. Stateless. */
final class ReportReader {
  private static final String PREFIX = "TEST-";

  private ReportReader() {}

  /**
   * Returns the results of all tests of a run.
   *
   * @param modules the folders of the modules, by name
   * @param since start of the run; reads no older reports, because they belong to an earlier run
   */
  static List<TestResult> read(Map<String, Path> modules, FileTime since) throws IOException {
    List<TestResult> results = new ArrayList<>();
    for (Map.Entry<String, Path> module : modules.entrySet()) {
      for (Plugin plugin : Plugin.values()) {
        Path folder = module.getValue().resolve("target").resolve(plugin.folder());
        for (Path report : reports(folder, since)) {
          results.addAll(read(report, module.getKey(), plugin));
        }
      }
    }
    return results;
  }

  private static List<Path> reports(Path folder, FileTime since) throws IOException {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    List<Path> reports = new ArrayList<>();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.sorted().toList()) {
        String name = file.getFileName().toString();
        if (name.startsWith(PREFIX)
            && name.endsWith(".xml")
            && Files.getLastModifiedTime(file).compareTo(since) >= 0) {
          reports.add(file);
        }
      }
    }
    return reports;
  }

  private static List<TestResult> read(Path report, String module, Plugin plugin)
      throws IOException {
    XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    try (InputStream in = Files.newInputStream(report)) {
      return read(factory.createXMLStreamReader(in), report, module, plugin);
    } catch (XMLStreamException notXml) {
      throw new IOException(report + " cannot be read: " + notXml.getMessage(), notXml);
    }
  }

  private static List<TestResult> read(
      XMLStreamReader xml, Path report, String module, Plugin plugin) throws XMLStreamException {
    List<TestResult> results = new ArrayList<>();
    String file = report.getFileName().toString();
    String suite = file.substring(PREFIX.length(), file.length() - ".xml".length());
    Path output = report.resolveSibling(suite + "-output.txt");
    String name = "";
    String className = suite;
    double seconds = 0;
    Outcome outcome = Outcome.PASSED;
    String message = "";
    String details = "";
    while (xml.hasNext()) {
      int event = xml.next();
      if (event == XMLStreamConstants.START_ELEMENT) {
        switch (xml.getLocalName()) {
          case "testcase" -> {
            name = attribute(xml, "name");
            className = attribute(xml, "classname");
            seconds = seconds(attribute(xml, "time"));
            outcome = Outcome.PASSED;
            message = "";
            details = "";
          }
          case "failure", "error" -> {
            outcome = xml.getLocalName().equals("failure") ? Outcome.FAILED : Outcome.BROKEN;
            message = attribute(xml, "message");
            details = xml.getElementText();
          }
          case "flakyFailure", "flakyError" -> {
            outcome = Outcome.FLAKY;
            message = attribute(xml, "message");
          }
          case "stackTrace" -> details = details.isEmpty() ? xml.getElementText() : details;
          case "skipped" -> {
            outcome = Outcome.SKIPPED;
            message = attribute(xml, "message");
          }
          default -> {
            // properties and output are not used
          }
        }
      } else if (event == XMLStreamConstants.END_ELEMENT && xml.getLocalName().equals("testcase")) {
        results.add(
            new TestResult(
                module,
                plugin,
                className.isEmpty() ? suite : className,
                name.equals(className) ? "" : name,
                seconds,
                outcome,
                message,
                details,
                output));
      }
    }
    return results;
  }

  private static String attribute(XMLStreamReader xml, String name) {
    String value = xml.getAttributeValue(null, name);
    return value == null ? "" : value;
  }

  private static double seconds(String text) {
    return text.isEmpty() ? 0 : Double.parseDouble(text.replace(",", ""));
  }
}
