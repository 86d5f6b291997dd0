// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The permitted dependencies around the applier of corrections. */
final class CorrectArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeJars())
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("io.weir.ingest");

  @Test
  void correct_dependsOn_topicsTheCachesPortsAndKafkaClientsOnly() {
    classes()
        .that()
        .resideInAPackage("io.weir.ingest.correct")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "io.weir.ingest.clock",
            "io.weir.ingest.correct",
            "io.weir.decision.correction",
            "io.weir.limits..",
            "io.weir.topics..",
            "org.apache.kafka.clients..",
            "org.apache.kafka.common..",
            "io.micrometer.core.instrument..",
            "org.slf4j..",
            "org.jspecify.annotations..",
            "java..")
        .check(CLASSES);
  }

  @Test
  void backlogPaceAndApplier_knowNo_kafka() {
    noClasses()
        .that()
        .resideInAPackage("io.weir.ingest.correct")
        .and()
        .haveNameMatching(
            ".*\\.(CorrectionBacklog|CorrectionPace|Applier|LimitsInForce|CacheWatch)(\\$.*)?")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("org.apache.kafka..")
        .check(CLASSES);
  }

  @Test
  void correctPackage_readsNoClock() {
    noClasses()
        .that()
        .resideInAPackage("io.weir.ingest.correct")
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(Thread.class, "sleep", long.class)
        .check(CLASSES);
  }

  @Test
  void gateHttpAndRecord_knowNothing_ofCorrections() {
    noClasses()
        .that()
        .resideInAnyPackage(
            "io.weir.ingest.gate", "io.weir.ingest.policy", "io.weir.ingest.record..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.weir.ingest.correct")
        .check(CLASSES);
  }
}
