// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

class HealthUpdatesTest {
  private static final String SERVICE = "shop.Limits";

  @Test
  void closedTwice_tellsNotServing_andLogsNoWarning() {
    Warnings warnings = new Warnings();
    Logger library = Logger.getLogger("io.grpc.protobuf.services");
    library.addHandler(warnings);
    HealthStatusManager status = new HealthStatusManager();
    try {
      HealthUpdates updates = HealthUpdates.start(status, SERVICE, () -> true);
      assertEquals(ServingStatus.SERVING, health(status));

      updates.close();
      updates.close();

      assertEquals(ServingStatus.NOT_SERVING, health(status));
      assertEquals(List.of(), warnings.messages);
    } finally {
      library.removeHandler(warnings);
    }
  }

  private static ServingStatus health(HealthStatusManager status) {
    Answer answer = new Answer();
    ((HealthGrpc.HealthImplBase) status.getHealthService())
        .check(HealthCheckRequest.newBuilder().setService(SERVICE).build(), answer);
    return answer.told.get(0);
  }

  private static final class Answer implements StreamObserver<HealthCheckResponse> {
    private final List<ServingStatus> told = new ArrayList<>();

    @Override
    public void onNext(HealthCheckResponse response) {
      told.add(response.getStatus());
    }

    @Override
    public void onError(Throwable failure) {
      throw new AssertionError(failure);
    }

    @Override
    public void onCompleted() {
      // one answer is all
    }
  }

  private static final class Warnings extends Handler {
    private final List<String> messages = new ArrayList<>();

    @Override
    public void publish(LogRecord entry) {
      if (entry.getLevel().intValue() >= Level.WARNING.intValue()) {
        messages.add(entry.getMessage());
      }
    }

    @Override
    public void flush() {
      // nothing is kept back
    }

    @Override
    public void close() {
      // nothing is held
    }
  }
}
