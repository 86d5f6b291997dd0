// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.billing;

import io.weir.e2e.WeirProcess;
import io.weir.servers.Ports;
import io.weir.servers.testing.TestPostgres;
import io.weir.testing.Checkout;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A worker of Kafka Connect, configured by the files of {@code clients/samples/connect} as they
 * are, which keeps the ledger in PostgreSQL.
 */
public final class ConnectWorker {
  private static final Path ROOT = Checkout.root();
  private static final Path SAMPLES = ROOT.resolve("clients/samples/connect");

  /** The file that creates the ledger's table. */
  public static final Path TABLE =
      ROOT.resolve("topics/src/main/resources/io/weir/topics/schema/ledger.sql");

  private ConnectWorker() {}

  /**
   * Starts a worker.
   *
   * @param folder where it keeps how far it has read; another one over the same folder goes on
   *     there
   */
  public static WeirProcess start(Path folder, String kafka, TestPostgres postgres)
      throws Exception {
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka);
    environment.put("CONNECT_OFFSETS", folder.resolve("offsets").toString());
    environment.put("CONNECT_LISTENER", "http://127.0.0.1:" + Ports.free());
    environment.put("LEDGER_JDBC_URL", postgres.jdbcUrl());
    environment.put("LEDGER_DB_USER", postgres.user());
    environment.put("LEDGER_DB_PASSWORD", "none is asked for");
    return WeirProcess.startProgram(
        folder,
        environment,
        List.of(
            "env",
            "-C",
            ROOT.toString(),
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx512m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-cp",
            SAMPLES.resolve("target/lib") + "/*",
            "org.apache.kafka.connect.cli.ConnectStandalone",
            SAMPLES.resolve("worker.properties").toString(),
            SAMPLES.resolve("ledger-to-postgres.properties").toString()));
  }
}
