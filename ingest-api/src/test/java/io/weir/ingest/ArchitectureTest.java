// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The permitted dependencies between the packages of this module. */
final class ArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
          .importPackages("io.weir.ingest");

  @Test
  void gate_dependsOn_modelDecisionMetersAndLogOnly() {
    classes()
        .that()
        .resideInAPackage("io.weir.ingest.gate")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..",
            "org.jspecify..",
            "org.slf4j",
            "io.micrometer.core.instrument",
            "io.weir.limits..",
            "io.weir.topics.model",
            "io.weir.decision",
            // as pure as its port: its clock is an argument
            "com.github.benmanes.caffeine.cache",
            "io.weir.decision.memory",
            "io.weir.ingest.gate")
        .check(CLASSES);
  }

  @Test
  void javalin_isKnownTo_httpOnly() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.weir.ingest.http")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.javalin..", "org.eclipse.jetty..", "jakarta..")
        .check(CLASSES);
  }

  @Test
  void kafka_isKnownTo_recordCorrectSettleAndPolicyLogOnly() {
    noClasses()
        .that()
        .resideOutsideOfPackages(
            "io.weir.ingest.record",
            "io.weir.ingest.correct",
            "io.weir.ingest.settle",
            "io.weir.ingest.policy.log")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("org.apache.kafka..")
        .check(CLASSES);
  }

  @Test
  void grpc_isKnownTo_theRateLimitServiceOnly() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.weir.ingest.rls")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.grpc..", "com.google.protobuf..", "io.envoyproxy..", "io.netty..")
        .check(CLASSES);
  }

  @Test
  void openTelemetry_isKnownTo_theTracesOnly() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.weir.ingest.trace")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.opentelemetry..")
        .check(CLASSES);
  }

  @Test
  void rocks_isKnownTo_journalOnly() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.weir.ingest.record.journal")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("org.rocksdb..")
        .check(CLASSES);
  }

  @Test
  void ingest_neverMeets_theAggregator() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.weir.aggregator..")
        .check(CLASSES);
  }

  @Test
  void environmentAndConsole_areLeftToTheLauncher() {
    noClasses()
        .should()
        .callMethod(System.class, "getenv")
        .orShould()
        .callMethod(System.class, "getenv", String.class)
        .orShould()
        .accessField(System.class, "out")
        .orShould()
        .accessField(System.class, "err")
        .check(CLASSES);
  }

  @Test
  void packages_areFreeOfCycles() {
    slices().matching("io.weir.ingest.(*)..").should().beFreeOfCycles().check(CLASSES);
  }
}
