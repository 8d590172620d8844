"""Jobs of the user, and the flows of questions that lead to them.

A flow is a coroutine that may open screens and wait for their answers:

    async def install(app: FlowApp, name: str) -> None:
        plan = await app.jobs.in_thread(lambda: make_plan(name))  # in a thread, so that the screen stays responsive
        answer = await app.push_screen_wait(PlanScreen(preview_of(plan)))
        if answer.is_yes:
            app.jobs.start(JobSpec(f"install {name}", partial(run_plan, plan), name, frozenset({module_key(name)})))

    app.jobs.run_flow(install(app, "keda"))

A KymatuiError that a flow raises is reported and added to the list of problems.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.errors import ConfigurationError, KymatuiError, ReadOnlyError
from kymatui.ui.connection.remote_reading import read_remote
from kymatui.ui.viewmodels.display_text import as_screen_commands

if TYPE_CHECKING:
    from kymatui.actions.jobs import JobRunner, JobSpec
    from kymatui.actions.session import Session
    from kymatui.domain.plans.cluster_target import ClusterName, ClusterTarget
    from kymatui.domain.plans.jobs import Job
    from kymatui.engine.jobs.job_records import JobRecord
    from kymatui.ui.base.screen_app import ScreenApp
    from kymatui.ui.connection.cluster_link import ClusterConnection
    from kymatui.ui.connection.cluster_view import ClusterView

Result = TypeVar("Result")
JobRestart = Callable[[], Coroutine[Any, Any, object]]
"""Makes the flow that led to a job anew."""

JOBS = "jobs"
_INTERRUPTED = "interrupted jobs"
_PATIENCE = 10.0  # seconds for running steps when the user quits
_LONGEST = 3600.0  # seconds that a step can take; its session stays open for it


def _job_cluster(session: Session) -> ClusterName:
    from kymatui.actions.jobs import job_cluster

    return job_cluster(session)


def _interrupted_jobs(view: ClusterView) -> tuple[JobRecord, ...]:
    """Return the interrupted jobs on the cluster of a view, which is asked only if this machine has any."""
    from kymatui.adapters.files.job_journals import interrupted
    from kymatui.engine.cluster.ports import name_cluster
    from kymatui.engine.jobs.job_records import of_cluster

    if not interrupted():
        return ()
    if view.fleet_name is not None:
        cluster = view.fleet_name
    elif view.writing is not None:
        cluster = _job_cluster(view.writing)
    elif view.control_plane is not None:
        cluster = name_cluster(view.control_plane)
    else:
        return ()
    return of_cluster(interrupted(cluster.name), cluster)


async def read_interrupted(app: ScreenApp, jobs: ScreenJobs) -> None:
    """Read the interrupted jobs on the displayed cluster from their journals."""
    view = app.view
    if view.fleet_name is not None or view.writing is not None or view.control_plane is not None:
        before, jobs.interrupted = jobs.interrupted, await jobs.in_thread(partial(_interrupted_jobs, view))
        if jobs.interrupted != before or not jobs.is_read:
            jobs.is_read = True
            jobs.publish(_INTERRUPTED, jobs.interrupted)  # so that the screen is drawn again


class ScreenJobs:
    """Jobs and flows of one app; call every method on the event loop."""

    def __init__(self, app: ScreenApp, publish: Callable[[str, object], None]) -> None:
        self._app = app
        self.publish = publish
        self._runner: JobRunner | None = None
        self._again: dict[int, JobRestart] = {}
        self._busy = False
        self._flow_place: ClusterConnection | None = None
        self.flow_target: ClusterTarget | None = None
        """The cluster of the running flow, or what its plan is about."""
        self._targets: dict[int, ClusterTarget] = {}
        self.all: tuple[Job, ...] = ()
        self.interrupted: tuple[JobRecord, ...] = ()
        """The interrupted jobs of this machine on the displayed cluster, newest first; unknown unless `is_read`."""
        self.is_read = False
        self.is_closed = False

    # jobs

    def start(self, work: JobSpec, again: JobRestart | None = None) -> Job | None:
        """Start or queue a job; return None where writes are impossible. A refused job offers `again`."""
        if self._runner is None:
            self._runner = self._new_runner()
        try:
            job = self._runner.start(self._placed(work))
        except (ReadOnlyError, ConfigurationError) as error:
            self._app.problem(sanitize(f"{error.text}; {error.hint}" if error.hint else error.text))
            return None
        if again is not None:
            self._again[job.number] = again
        if self.target is not None:
            self._targets[job.number] = self.target
        self._app.notify(f"#{job.number} {sanitize(work.title)}   J shows jobs", timeout=3)
        return job

    def _placed(self, work: JobSpec) -> JobSpec:
        """Add the cluster, and the runtime to the job's title; the list has the jobs of all runtimes."""
        connection, session = self._flow_place if self._busy else self._app.view.place, self._app.view.writing
        if work.cluster is None and session is not None:
            work = replace(work, cluster=partial(_job_cluster, session))
        if connection is None or not connection.title:
            return work
        return replace(
            work, cluster_name=connection.title, title=f"{work.title} on {connection.title.rpartition('/')[2]}"
        )

    @property
    def target(self) -> ClusterTarget | None:
        """Return the cluster of the running flow, else the displayed cluster."""
        return self.flow_target if self._busy else self._app.view.target

    def targets(self, *jobs: Job) -> tuple[ClusterTarget, ...]:
        """Return the clusters that these jobs write to, each once."""
        return tuple(dict.fromkeys(self._targets[job.number] for job in jobs if job.number in self._targets))

    def own_job(self, module: str) -> Job | None:
        """Return the active job of a module of the displayed cluster."""
        connection = self._app.view.place
        name = connection.title if connection is not None else ""
        return next((job for job in self.active if (job.module, job.cluster_name) == (module, name)), None)

    def _new_runner(self) -> JobRunner:
        from kymatui.actions.jobs import JobRunner
        from kymatui.adapters.files.job_journals import JobJournals

        connection = self._app.view.place
        return JobRunner(
            lambda jobs: self.publish(JOBS, jobs),
            read_only=lambda: self._app.read_only,
            now=self._app.clock,
            book=JobJournals(connection.context) if connection is not None else None,
        )

    def find(self, number: int) -> Job | None:
        return next((job for job in self.all if job.number == number), None)

    def cancel(self, number: int) -> None:
        if self._runner is not None:
            self._runner.cancel(number)

    def again(self, number: int) -> JobRestart | None:
        """Return how to plan an incomplete job again; None where that is unknown."""
        job = self.find(number)
        return self._again.get(number) if job is not None and job.is_over else None

    @property
    def active(self) -> tuple[Job, ...]:
        """Return the jobs that have not ended."""
        return tuple(job for job in self.all if not job.is_over)

    def deliver(self, jobs: tuple[Job, ...]) -> None:
        """Store the jobs from the mailbox and report those that have ended."""
        before = {job.number for job in self.all if job.is_over}
        self.all = jobs
        ended = [job for job in jobs if job.is_over and job.number not in before]
        for job in ended:
            self._announce(job)
        if ended:
            self.run_beside(read_interrupted(self._app, self))

    def _announce(self, job: Job) -> None:
        from kymatui.domain.plans.jobs import JobState
        from kymatui.ui.presenters.plans.job_rows import format_ending

        words = as_screen_commands(sanitize(format_ending(job)))
        if job.state is JobState.DONE:
            self._app.notify(words)
        elif job.state is JobState.CANCELLED:
            self._app.notify(words, severity="warning")
        else:
            self._app.problem(words)
        if self._app.settings.bell:
            self._app.bell()

    # flows

    @property
    def busy(self) -> bool:
        """Return whether a flow is running or asking."""
        return self._busy

    def run_flow(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Run a flow unless another flow is asking."""
        if self._busy:
            coroutine.close()
            self._app.notify("another action is still loading or waits for your answer", timeout=3)
            return
        self._busy = True
        self._flow_place, self.flow_target = self._app.view.place, self._app.view.target
        self._app.run_worker(self._alone(coroutine), group="flows", exit_on_error=False)

    async def _alone(self, coroutine: Coroutine[Any, Any, object]) -> None:
        try:
            await self._guarded(coroutine)
        finally:
            self._busy = False

    def run_beside(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Run a flow that asks nothing, next to any other flow."""
        self._app.run_worker(self._guarded(coroutine), group="beside", exit_on_error=False)

    async def _guarded(self, coroutine: Coroutine[Any, Any, object]) -> None:
        try:
            await coroutine
        except KymatuiError as error:
            self._app.problem(as_screen_commands(sanitize(f"{error.text}. {error.hint}" if error.hint else error.text)))
        except Exception as error:  # noqa: BLE001 (a flow that dies in silence would leave a person waiting)
            self._app.problem(sanitize(f"{type(error).__name__}: {error}; this is a bug in kymatui, please report it"))

    async def in_thread(self, call: Callable[[], Result]) -> Result:
        """Run a slow call in a thread, which does not keep the program from ending while a server is silent."""
        return await read_remote(call)

    # leaving

    async def quit(self) -> None:
        """Quit the program; with active jobs only once confirmed and after the current steps."""
        if await self.stop("Quit and stop {}?"):
            self._app.exit(0)

    async def stop(self, question: str) -> bool:
        """Stop the active jobs once the user confirms the question, which names them as `{}`; return whether they did.

        Waits some seconds for the current steps. Journals keep the jobs open, so that they are offered again.
        """
        if not self.active:
            return True
        from kymatui.ui.dialogs.choice_dialog import ConfirmScreen
        from kymatui.ui.presenters.plans.job_rows import cancel_consequences

        words = "\n\n".join(f"#{job.number} {job.title}\n{cancel_consequences(job)}" for job in self.active)
        title = question.format(format_count(len(self.active), "job"))
        if not await self._app.push_screen_wait(
            ConfirmScreen(title, words, alarming=True, targets=self.targets(*self.active))
        ):
            return False
        self._app.notify("stopping after the current steps", timeout=_PATIENCE)
        self.close()
        await self.in_thread(self._rest)
        return True

    def when_idle(self, call: Callable[[], None]) -> None:
        """Call at once where no job is in a step, else in a thread after the last step has ended."""
        if self._runner is None or self._runner.wait(0):
            call()
        else:
            threading.Thread(target=self._after_last_step, args=(call,), name="jobs-end", daemon=True).start()

    def _after_last_step(self, call: Callable[[], None]) -> None:
        if self._runner is not None:
            self._runner.wait(_LONGEST)
        call()

    def _rest(self) -> None:
        if self._runner is not None:
            self._runner.wait(_PATIENCE)

    def close(self) -> None:
        """Stop all jobs when the program ends, or leaves their cluster."""
        self.is_closed = True
        if self._runner is not None:
            self._runner.close()
