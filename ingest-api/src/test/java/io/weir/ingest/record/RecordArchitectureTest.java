// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The permitted dependencies around the record path. */
final class RecordArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeJars())
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("io.weir.ingest");

  @Test
  void recordPackage_dependsOn_itsPortTheTopicsKafkaClientsAndRocksDbOnly() {
    classes()
        .that()
        .resideInAPackage("io.weir.ingest.record..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "io.weir.ingest.record..",
            "io.weir.ingest.clock",
            "io.weir.ingest.gate..",
            "io.weir.topics..",
            "org.apache.kafka.clients..",
            "org.apache.kafka.common..",
            "io.micrometer.core.instrument..",
            "org.rocksdb..",
            "org.slf4j..",
            "org.jspecify.annotations..",
            "java..")
        .check(CLASSES);
  }

  @Test
  void journal_dependsOn_modelAndRocksDbOnly() {
    classes()
        .that()
        .resideInAPackage("io.weir.ingest.record.journal")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "io.weir.ingest.record.journal",
            "io.weir.topics.model",
            "org.rocksdb..",
            "org.slf4j..",
            "org.jspecify.annotations..",
            "java..")
        .check(CLASSES);
  }

  @Test
  void recordPackage_readsNeitherClocksNorEnvironment() {
    noClasses()
        .that()
        .resideInAPackage("io.weir.ingest.record..")
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(Thread.class, "sleep", long.class)
        .orShould()
        .callMethod(System.class, "getenv", String.class)
        .check(CLASSES);
  }
}
