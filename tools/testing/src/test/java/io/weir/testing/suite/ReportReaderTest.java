// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.suite.TestResult.Outcome;
import io.weir.testing.suite.TestResult.Plugin;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ReportReaderTest {
  private static final String REPORT =
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuite name="io.weir.PeerBugsIT" tests="4" errors="1" skipped="1" failures="1">
        <properties><property name="a" value="b"/></properties>
        <testcase name="fits" classname="io.weir.PeerBugsIT" time="0.5"/>
        <testcase name="seed(long)[2]" classname="io.weir.PeerBugsIT" time="1,000.25">
          <failure message="seed 42: expected 1" type="AssertionError"><![CDATA[trace of seed 42
      	at io.weir.PeerBugsIT.seed]]></failure>
          <system-out>noise</system-out>
        </testcase>
        <testcase name="breaks" classname="io.weir.PeerBugsIT" time="0">
          <error message="boom" type="java.io.IOException">trace</error>
        </testcase>
        <testcase name="io.weir.SlowIT" classname="io.weir.SlowIT" time="0">
          <skipped message="three brokers"/>
        </testcase>
      </testsuite>
      """;

  @TempDir private Path root;
  private Path folder = Path.of("");

  @BeforeEach
  void writeReport() throws IOException {
    folder = Files.createDirectories(root.resolve("cache/target/failsafe-reports"));
    Files.writeString(folder.resolve("TEST-io.weir.PeerBugsIT.xml"), REPORT);
  }

  private List<TestResult> read(long sinceMillis) throws IOException {
    return ReportReader.read(
        Map.of("cache", root.resolve("cache"), "other", root.resolve("other")),
        FileTime.fromMillis(sinceMillis));
  }

  @Test
  void read_everyOutcome_isReported() throws IOException {
    List<TestResult> results = read(0);

    assertEquals(
        List.of(Outcome.PASSED, Outcome.FAILED, Outcome.BROKEN, Outcome.SKIPPED),
        results.stream().map(TestResult::outcome).toList());
    assertEquals(
        List.of("PeerBugsIT.fits", "PeerBugsIT.seed(long)[2]", "PeerBugsIT.breaks", "SlowIT"),
        results.stream().map(TestResult::name).toList());
    assertEquals(1_000.25, results.get(1).seconds());
    assertEquals(Plugin.FAILSAFE, results.get(0).plugin());
    assertEquals("three brokers", results.get(3).message());
    assertEquals(
        "[ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1", Summary.counts(results));
  }

  @Test
  void read_reportOfAnEarlierRun_isIgnored() throws IOException {
    assertEquals(List.of(), read(System.currentTimeMillis() + 60_000));
  }

  @Test
  void read_testThatPassedOnItsSecondRun_isFlakyAndDoesNotFailTheRun() throws IOException {
    Files.writeString(
        folder.resolve("TEST-io.weir.PeerBugsIT.xml"),
        """
        <testsuite name="io.weir.PeerBugsIT" tests="2" errors="0" skipped="0" failures="0">
          <testcase name="slow" classname="io.weir.PeerBugsIT" time="0.5">
            <flakyFailure message="expected 1" type="AssertionError">
              <stackTrace>trace of the first run</stackTrace>
              <system-out>noise</system-out>
            </flakyFailure>
          </testcase>
          <testcase name="fits" classname="io.weir.PeerBugsIT" time="0.5"/>
        </testsuite>
        """);
    StringWriter text = new StringWriter();

    List<TestResult> results = read(0);
    Summary.printFlaky(new PrintWriter(text), results);

    assertEquals(
        List.of(Outcome.FLAKY, Outcome.PASSED), results.stream().map(TestResult::outcome).toList());
    assertEquals(
        "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0", Summary.counts(results));
    assertTrue(text.toString().contains("FLAKY in cache: PeerBugsIT.slow"));
    assertTrue(text.toString().contains("trace of the first run"));
  }

  @Test
  void failure_isReportedWithItsTraceAndOnlyItsOwnOutput() throws IOException {
    Files.writeString(
        folder.resolve("io.weir.PeerBugsIT-output.txt"),
        """
        --- begins: fits
        of another
        --- ended: fits
        --- begins: seed
        of its own
        --- ended: seed
        """);
    StringWriter text = new StringWriter();

    Summary.printFailures(new PrintWriter(text), read(0));

    assertTrue(text.toString().contains("FAILED in cache: PeerBugsIT.seed(long)[2]"));
    assertTrue(text.toString().contains("trace of seed 42"));
    String ownOutput = Summary.outputOf(read(0).get(1)).toString();
    assertEquals("[of its own]", ownOutput);
  }
}
